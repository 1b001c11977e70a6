//! Killed members and broken connections under load.

use std::sync::Arc;

use lockstep_storage::{Consistency, Revision, Store};
use lockstep_storage_etcd::{EtcdStore, Options};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::etcd::{Member, Release, Security, start_cluster};
use crate::load::{Change, Load, changes, check_history, follow, mark_end};
use crate::proxy::Proxy;

const ROUNDS: usize = 3;
const OUTCOMES_EACH: usize = 150;

/// Writers and a watch that run through a fault.
struct Scene {
    /// An independent client of the same cluster.
    witness: EtcdStore,
    first: Revision,
    load: Load,
    seen: JoinHandle<Vec<Change>>,
}

impl Scene {
    async fn start(runtime: &Runtime, store: EtcdStore, witness: EtcdStore) -> Self {
        let store = Arc::new(store);
        let current = store.revision(Consistency::Linearizable).await.unwrap();
        let first = current.next();
        let watch = follow(&*store, first).await;
        let mut load = Load::start(&store);
        load.outcomes(OUTCOMES_EACH).await;
        Self {
            witness,
            first,
            load,
            seen: runtime.spawn(changes(watch)),
        }
    }

    /// Ends the load and compares the acknowledgements, the events of the interrupted watch, and those of an
    /// uninterrupted one.
    async fn check(mut self) {
        self.load.outcomes(OUTCOMES_EACH).await;
        let acknowledgements = self.load.stop().await;
        mark_end(&self.witness).await;
        let seen = self.seen.await.unwrap();
        let history = changes(follow(&self.witness, self.first).await).await;
        assert_eq!(seen, history);
        check_history(&acknowledgements, &history);
    }
}

/// Not with the newer release: etcd 3.5.0 to 3.5.2 lose acknowledged writes when they are killed
/// under load.
#[test]
fn a_killed_member_costs_no_acknowledged_write_and_no_event() {
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    let mut member = Member::start(&program);
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let mut scene =
            Scene::start(&runtime, member.connect().await, member.connect().await).await;
        for _ in 0..ROUNDS {
            member.kill();
            member.restart();
            scene.load.outcomes(OUTCOMES_EACH).await;
        }
        scene.check().await;
    });
}

#[test]
fn a_cut_wire_costs_no_acknowledged_write_and_no_event() {
    for release in [Release::Packaged, Release::Newer] {
        let Some(program) = release.program() else {
            continue;
        };
        let member = Member::start(&program);
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let proxy = Proxy::to(member.url()).await;
            let store = EtcdStore::connect(Options::new([proxy.url()])).await;
            let mut scene = Scene::start(&runtime, store.unwrap(), member.connect().await).await;
            for _ in 0..ROUNDS {
                proxy.cut();
                proxy.mend();
                scene.load.outcomes(OUTCOMES_EACH).await;
            }
            scene.check().await;
        });
    }
}

#[test]
fn two_of_three_members_go_on_without_their_leader() {
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    let mut members = start_cluster(&program, 3, &Security::default());
    let leader = members.iter().position(Member::is_leader);
    // The leader comes first, so it is the one in use.
    members.swap(0, leader.expect("a cluster that serves has a leader"));
    let urls: Vec<_> = members
        .iter()
        .map(|member| member.url().to_owned())
        .collect();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let store = EtcdStore::connect(Options::new(urls.clone())).await;
        let witness = EtcdStore::connect(Options::new([urls[2].clone(), urls[1].clone()])).await;
        let scene = Scene::start(&runtime, store.unwrap(), witness.unwrap()).await;
        members[0].kill();
        scene.check().await;
    });
}
