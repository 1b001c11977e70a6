//! Seats, queues and borrowing, by virtual time: no test here has a clock.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lockstep_fairness::{
    Arrival, Classifier, Dispatched, FlowSchema, LevelId, LevelReport, Machine, PriorityLevel,
    Reject, Seat, Verdict, Work,
};
use lockstep_object::Object;
use proptest::prelude::*;
use serde_json::{Value, json};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn object(name: &str, spec: &Value) -> Object {
    Object::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
}

fn level(name: &str, limited: &Value) -> Arc<PriorityLevel> {
    let spec = json!({ "type": "Limited", "limited": limited });
    Arc::new(PriorityLevel::parse(&object(name, &spec)).unwrap())
}

fn queued(name: &str, shares: u32, queues: u32, hand: u32, length: u32) -> Arc<PriorityLevel> {
    let queuing = json!({ "queues": queues, "handSize": hand, "queueLengthLimit": length });
    let response = json!({ "type": "Queue", "queuing": queuing });
    let limited = json!({
        "nominalConcurrencyShares": shares,
        "borrowingLimitPercent": 0,
        "limitResponse": response,
    });
    level(name, &limited)
}

/// A catch-all without shares, so that the levels of a test have all seats.
fn no_catch_all() -> Arc<PriorityLevel> {
    let limited = json!({ "nominalConcurrencyShares": 0, "limitResponse": { "type": "Reject" } });
    level("catch-all", &limited)
}

fn schema(level: &str) -> Arc<FlowSchema> {
    let spec = json!({ "priorityLevelConfiguration": { "name": level } });
    Arc::new(FlowSchema::parse(&object(level, &spec)).unwrap())
}

/// Puts levels into force and returns their ids.
fn configure<W>(
    machine: &mut Machine<W>,
    levels: &[Arc<PriorityLevel>],
    now: Duration,
) -> (BTreeMap<String, LevelId>, Vec<Dispatched<W>>) {
    let schemas: Vec<_> = levels.iter().map(|level| schema(&level.name)).collect();
    let (classifier, dispatched) = Classifier::configure(machine, &schemas, levels, now);
    let ids = classifier.flows().iter();
    let ids = ids.map(|flow| (flow.schema.name.clone(), flow.id));
    (ids.collect(), dispatched)
}

fn one_level(seats: u32, level: Arc<PriorityLevel>) -> (Machine<u32>, LevelId) {
    let mut machine = Machine::new(seats, Duration::ZERO);
    let name = level.name.clone();
    let (ids, _) = configure(&mut machine, &[level, no_catch_all()], Duration::ZERO);
    (machine, ids[&name])
}

fn of<'a>(reports: &'a [LevelReport], name: &str) -> &'a LevelReport {
    reports.iter().find(|report| report.name == name).unwrap()
}

/// A flow of a simulation: its requests in flight, the seats of each, and the time that it takes.
#[derive(Clone, Copy)]
struct Load {
    hash: u64,
    in_flight: usize,
    seats: u32,
    takes: Duration,
    /// Requests that come on top at half-time. Only what is served afterwards counts then.
    burst: usize,
}

/// Outcome of a flow.
#[derive(Clone, Copy, Default, Debug)]
struct Served {
    requests: u32,
    seat_time: f64,
    rejected: u32,
}

/// Serves flows that always have their number of requests under way, for a time.
fn simulate(seats: u32, level: Arc<PriorityLevel>, loads: &[Load], until: Duration) -> Vec<Served> {
    let (mut machine, id) = one_level(seats, level);
    let mut served = vec![Served::default(); loads.len()];
    let mut running: BTreeMap<(Duration, u64), (usize, Seat)> = BTreeMap::new();
    let mut to_send: Vec<usize> = Vec::new();
    for (flow, load) in loads.iter().enumerate() {
        to_send.extend(std::iter::repeat_n(flow, load.in_flight));
    }
    let (mut now, mut nth) = (Duration::ZERO, 0);
    let mut is_calm = loads.iter().any(|load| load.burst > 0);
    while now < until {
        if is_calm && now >= until / 2 {
            is_calm = false;
            served.fill(Served::default());
            for (flow, load) in loads.iter().enumerate() {
                to_send.extend(std::iter::repeat_n(flow, load.burst));
            }
        }
        let mut started = Vec::new();
        // A refused request is sent again at the next event, as an impatient client does.
        let mut again = Vec::new();
        for flow in std::mem::take(&mut to_send) {
            let arrival = Arrival {
                level: id,
                hash: loads[flow].hash,
                work: Work::of(loads[flow].seats),
            };
            match machine.arrive(arrival, now, || u32::try_from(flow).unwrap()) {
                Verdict::Executes(seat) => started.push((flow, seat)),
                Verdict::Waits(_, others) => started.extend(turns(others)),
                Verdict::Rejected(_) => {
                    served[flow].rejected += 1;
                    again.push(flow);
                }
                Verdict::Gone => panic!("the level is there"),
            }
        }
        let used = of(&machine.report(), "level").seats_in_use;
        assert!(used <= u64::from(seats), "{used} of {seats} seats");
        for (flow, seat) in started {
            nth += 1;
            running.insert((now + loads[flow].takes, nth), (flow, seat));
        }
        to_send = again;
        let Some(((at, _), (flow, seat))) = running.pop_first() else {
            panic!("nothing runs although requests wait");
        };
        now = at;
        served[flow].requests += 1;
        served[flow].seat_time += f64::from(loads[flow].seats) * loads[flow].takes.as_secs_f64();
        for (flow, seat) in turns(machine.finish(seat, now)) {
            nth += 1;
            running.insert((now + loads[flow].takes, nth), (flow, seat));
        }
        to_send.push(flow);
    }
    served
}

fn turns(dispatched: Vec<Dispatched<u32>>) -> impl Iterator<Item = (usize, Seat)> {
    let turns = dispatched.into_iter();
    turns.map(|turn| (turn.waiter as usize, turn.seat))
}

fn load(hash: u64, in_flight: usize) -> Load {
    Load {
        hash,
        in_flight,
        seats: 1,
        takes: ms(10),
        burst: 0,
    }
}

#[test]
fn equal_flows_have_equal_shares_and_a_flood_takes_no_more_than_its_own() {
    let level = queued("level", 10, 64, 1, 50);
    let served = simulate(
        4,
        level,
        &[load(1, 8), load(2, 8), load(3, 200)],
        ms(10_000),
    );
    let [one, two, flood] = served[..] else {
        panic!()
    };
    assert!(one.requests.abs_diff(two.requests) <= 4, "{served:?}");
    assert!(flood.requests.abs_diff(one.requests) <= 4, "{served:?}");
    assert_eq!((one.rejected, two.rejected), (0, 0));
    assert!(flood.rejected > 0, "{served:?}");
}

/// A flow with a hand of several queues has the share of these queues, and no more.
#[test]
fn a_flood_is_held_to_its_hand_of_queues() {
    let level = queued("level", 10, 128, 6, 50);
    let loads: Vec<Load> = (0..3)
        .map(|flow| load(0x1234_5678_9abc * (flow + 1), 6))
        .collect();
    let quiet = simulate(6, Arc::clone(&level), &loads, ms(5_000));
    let mut flooded = loads;
    flooded[0].in_flight = 400;
    let flooded = simulate(6, level, &flooded, ms(5_000));
    for flow in 1..3 {
        let (alone, beside) = (quiet[flow].requests, flooded[flow].requests);
        assert!(
            2 * beside >= alone,
            "{alone} before the flood, {beside} in it"
        );
        assert_eq!(flooded[flow].rejected, 0);
    }
}

#[test]
fn a_flow_that_asks_for_little_waits_for_one_turn_at_most() {
    let level = queued("level", 10, 64, 1, 50);
    let served = simulate(1, level, &[load(1, 1), load(2, 50)], ms(1_000));
    // One seat, requests of 10 ms: the small flow has every other turn.
    assert!((48..=52).contains(&served[0].requests), "{served:?}");
}

#[test]
fn slow_and_wide_requests_are_paid_with_seat_time() {
    let level = queued("level", 10, 64, 1, 50);
    let wide = Load {
        seats: 3,
        takes: ms(40),
        ..load(2, 20)
    };
    let served = simulate(6, level, &[load(1, 20), wide], ms(20_000));
    let share = served[1].seat_time / served[0].seat_time;
    assert!((0.8..=1.25).contains(&share), "{share} {served:?}");
}

/// Else a flow that asks for less than its share for a while would have all seats for as long afterwards, and one that
/// used idle seats would have none.
#[test]
fn shares_that_were_not_used_or_exceeded_are_hardly_remembered() {
    let level = queued("level", 10, 64, 1, 100);
    let modest = Load {
        burst: 50,
        takes: ms(1_000),
        ..load(1, 1)
    };
    let busy = Load {
        burst: 50,
        takes: ms(1_000),
        ..load(2, 3)
    };
    let served = simulate(4, level, &[modest, busy], ms(2_000_000));
    let (modest, busy) = (served[0].requests, served[1].requests);
    assert!(modest.abs_diff(busy) <= busy / 20, "{served:?}");
}

#[test]
fn a_full_queue_refuses_and_a_level_without_queues_does_not_wait() {
    let (mut machine, id) = one_level(1, queued("level", 1, 4, 1, 2));
    let arrival = |hash| Arrival {
        level: id,
        hash,
        work: Work::of(1),
    };
    let mut arrive = |hash| machine.arrive(arrival(hash), ms(0), || 0);
    assert!(matches!(arrive(0), Verdict::Executes(_)));
    assert!(matches!(arrive(0), Verdict::Waits(..)));
    assert!(matches!(arrive(0), Verdict::Waits(..)));
    assert_eq!(arrive(0), Verdict::Rejected(Reject::QueueFull));
    assert!(
        matches!(arrive(1), Verdict::Waits(..)),
        "another queue is free"
    );

    let reject = level("level", &json!({ "limitResponse": { "type": "Reject" } }));
    let (mut machine, id) = one_level(1, reject);
    let arrival = Arrival {
        level: id,
        ..arrival(0)
    };
    let Verdict::Executes(seat) = machine.arrive(arrival, ms(0), || 0) else {
        panic!()
    };
    let full = Verdict::Rejected(Reject::ConcurrencyLimit);
    assert_eq!(machine.arrive(arrival, ms(0), || 0), full);
    assert_eq!(machine.finish(seat, ms(1)), []);
    assert!(matches!(
        machine.arrive(arrival, ms(1), || 0),
        Verdict::Executes(_)
    ));
}

#[test]
fn a_request_that_gave_up_leaves_its_queue_and_one_that_was_dispatched_cannot() {
    let (mut machine, id) = one_level(1, queued("level", 1, 4, 1, 50));
    let arrival = Arrival {
        level: id,
        hash: 0,
        work: Work::of(1),
    };
    let Verdict::Executes(seat) = machine.arrive(arrival, ms(0), || 0) else {
        panic!()
    };
    let Verdict::Waits(first, _) = machine.arrive(arrival, ms(0), || 1) else {
        panic!()
    };
    let Verdict::Waits(second, _) = machine.arrive(arrival, ms(0), || 2) else {
        panic!()
    };
    assert_eq!(machine.cancel(first, ms(1)), Some(1));
    assert_eq!(machine.cancel(first, ms(1)), None);
    let turns: Vec<u32> = turns(machine.finish(seat, ms(2)))
        .map(|(flow, _)| u32::try_from(flow).unwrap())
        .collect();
    assert_eq!(turns, [2]);
    assert_eq!(machine.cancel(second, ms(3)), None);
    let reports = machine.report();
    let report = of(&reports, "level");
    assert_eq!(
        (report.waiting, report.executing, report.cancelled),
        (0, 1, 1)
    );
}

#[test]
fn exempt_requests_are_served_while_all_seats_are_taken() {
    let mut machine = Machine::new(1, ms(0));
    let (ids, _) = configure(&mut machine, &[queued("level", 1, 4, 1, 50)], ms(0));
    let exempt = ids["exempt"];
    let arrival = |level| Arrival {
        level,
        hash: 0,
        work: Work::of(1),
    };
    let _taken = machine.arrive(arrival(ids["level"]), ms(0), || ());
    assert!(matches!(
        machine.arrive(arrival(ids["level"]), ms(0), || ()),
        Verdict::Waits(..)
    ));
    let seats: Vec<_> = (0..100)
        .map(|_| machine.arrive(arrival(exempt), ms(0), || ()))
        .collect();
    assert!(
        seats
            .iter()
            .all(|verdict| matches!(verdict, Verdict::Executes(_)))
    );
}

#[test]
fn seats_of_a_request_that_lingers_are_free_later() {
    let (mut machine, id) = one_level(2, queued("level", 1, 4, 1, 50));
    let work = Work {
        seats: 1,
        final_seats: 2,
        linger: ms(50),
    };
    let wide = Arrival {
        level: id,
        hash: 0,
        work,
    };
    let Verdict::Executes(seat) = machine.arrive(wide, ms(0), || 0) else {
        panic!()
    };
    let narrow = Arrival {
        work: Work::of(1),
        ..wide
    };
    assert!(matches!(
        machine.arrive(narrow, ms(1), || 1),
        Verdict::Waits(..)
    ));
    assert_eq!(machine.finish(seat, ms(2)), []);
    assert_eq!(machine.due(), ms(52));
    assert_eq!(machine.advance(ms(51)), []);
    assert_eq!(turns(machine.advance(ms(52))).count(), 1);
}

#[test]
fn seats_that_are_kept_until_a_time_can_be_given_back_earlier() {
    let (mut machine, id) = one_level(1, queued("level", 1, 4, 1, 50));
    let arrival = Arrival {
        level: id,
        hash: 0,
        work: Work::of(1),
    };
    let Verdict::Executes(seat) = machine.arrive(arrival, ms(0), || 0) else {
        panic!()
    };
    assert!(matches!(
        machine.arrive(arrival, ms(0), || 1),
        Verdict::Waits(..)
    ));
    let kept = machine.linger(seat, ms(1_000), ms(1));
    assert_eq!(machine.advance(ms(999)), []);
    assert_eq!(turns(machine.end(kept, ms(999))).count(), 1);
    assert_eq!(machine.end(kept, ms(999)), []);
    assert_eq!(machine.advance(ms(1_000)), []);
}

/// Upstream's division of 600 seats among its default levels.
#[test]
fn seats_are_divided_by_shares_and_rounded_up() {
    let mut machine = Machine::<()>::new(600, ms(0));
    let limited = |name: &str, shares: u32, lendable: u32| {
        let response = json!({ "type": "Queue", "queuing": { "queues": 64, "handSize": 6, "queueLengthLimit": 50 } });
        level(
            name,
            &json!({
                "nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response,
            }),
        )
    };
    let levels = [
        limited("global-default", 20, 50),
        limited("leader-election", 10, 0),
        limited("node-high", 40, 25),
        limited("system", 30, 33),
        limited("workload-high", 40, 50),
        limited("workload-low", 100, 90),
    ];
    configure(&mut machine, &levels, ms(0));
    let limits = |report: &LevelReport| {
        let limits = report.limits;
        (
            report.name.clone(),
            limits.nominal,
            limits.lower,
            limits.upper,
        )
    };
    let found: Vec<_> = machine.report().iter().map(limits).collect();
    let row = |name: &str, nominal, lower, upper| (name.to_owned(), nominal, lower, upper);
    assert_eq!(
        found,
        [
            row("catch-all", 13, 13, 613),
            row("exempt", 0, 0, 0),
            row("global-default", 49, 24, 649),
            row("leader-election", 25, 25, 625),
            row("node-high", 98, 73, 698),
            row("system", 74, 50, 674),
            row("workload-high", 98, 49, 698),
            row("workload-low", 245, 24, 845),
        ]
    );
}

#[test]
fn a_busy_level_borrows_what_idle_ones_lend_and_no_more() {
    let half = |name: &str, lendable: u32| {
        let response = json!({ "type": "Queue", "queuing": { "queues": 8, "handSize": 1, "queueLengthLimit": 1000 } });
        level(
            name,
            &json!({
                "nominalConcurrencyShares": 10, "lendablePercent": lendable, "limitResponse": response,
            }),
        )
    };
    let mut machine = Machine::new(40, ms(0));
    let (ids, _) = configure(
        &mut machine,
        &[half("busy", 0), half("idle", 50), no_catch_all()],
        ms(0),
    );
    let arrival = Arrival {
        level: ids["busy"],
        hash: 0,
        work: Work::of(1),
    };
    for _ in 0..100 {
        let _verdict = machine.arrive(arrival, ms(0), || ());
    }
    let seats = |machine: &Machine<()>| {
        let reports = machine.report();
        (
            of(&reports, "busy").seats_in_use,
            of(&reports, "idle").limits.current,
        )
    };
    assert!(seats(&machine).0 <= 40);
    assert_eq!(machine.due(), ms(10_000));
    let lent = machine.advance(ms(10_000));
    let (busy, idle) = seats(&machine);
    assert!(
        (28..=30).contains(&busy) && (10..=12).contains(&idle),
        "{busy} {idle}"
    );
    drop(lent);
    // Once the idle level has demand, it has its own seats again with the next period.
    let arrival = Arrival {
        level: ids["idle"],
        ..arrival
    };
    for _ in 0..100 {
        let _verdict = machine.arrive(arrival, ms(10_000), || ());
    }
    let _dispatched = machine.advance(ms(20_000));
    assert_eq!(seats(&machine).1, 20);
}

#[test]
fn a_level_keeps_the_nominal_seats_that_it_uses() {
    let lends_all = |name: &str| {
        let queuing = json!({ "queues": 8, "handSize": 1, "queueLengthLimit": 1000 });
        let response = json!({ "type": "Queue", "queuing": queuing });
        level(
            name,
            &json!({
                "nominalConcurrencyShares": 10, "lendablePercent": 100, "limitResponse": response,
            }),
        )
    };
    let mut machine = Machine::new(40, ms(0));
    let levels = [lends_all("flood"), lends_all("modest"), no_catch_all()];
    let (ids, _) = configure(&mut machine, &levels, ms(0));
    for (name, requests) in [("flood", 400), ("modest", 10)] {
        let arrival = Arrival {
            level: ids[name],
            hash: 0,
            work: Work::of(1),
        };
        for _ in 0..requests {
            let _verdict = machine.arrive(arrival, ms(0), || ());
        }
    }
    let _lent = machine.advance(ms(10_000));
    let reports = machine.report();
    let current = |name| of(&reports, name).limits.current;
    assert_eq!((current("flood"), current("modest")), (30, 10));
}

/// However small the server, and however much exempt requests take.
#[test]
fn a_level_never_lends_its_last_seat() {
    let lends_all = json!({
        "nominalConcurrencyShares": 10,
        "lendablePercent": 100,
        "limitResponse": { "type": "Queue", "queuing": { "queues": 1, "handSize": 1 } },
    });
    let mut machine = Machine::new(2, ms(0));
    let levels = [level("level", &lends_all)];
    let (ids, _) = configure(&mut machine, &levels, ms(0));
    let arrival = |level| Arrival {
        level,
        hash: 0,
        work: Work::of(1),
    };
    for _ in 0..50 {
        let _busy = machine.arrive(arrival(ids["exempt"]), ms(0), || ());
    }
    assert_eq!(machine.advance(ms(10_000)), []);
    let verdict = machine.arrive(arrival(ids["level"]), ms(10_000), || ());
    assert!(matches!(verdict, Verdict::Executes(_)));
}

#[test]
fn a_deleted_level_serves_what_waits_and_then_is_gone() {
    let mut machine = Machine::new(10, ms(0));
    let (ids, _) = configure(&mut machine, &[queued("level", 1, 4, 1, 50)], ms(0));
    let arrival = Arrival {
        level: ids["level"],
        hash: 0,
        work: Work::of(1),
    };
    let mut running = Vec::new();
    let mut waiting = 0;
    for _ in 0..10 {
        match machine.arrive(arrival, ms(0), || 0) {
            Verdict::Executes(seat) => running.push(seat),
            _ => waiting += 1,
        }
    }
    assert!(waiting > 0 && !running.is_empty());
    let (_, dispatched) = configure(&mut machine, &[], ms(1));
    running.extend(turns(dispatched).map(|(_, seat)| seat));
    assert_eq!(machine.arrive(arrival, ms(1), || 0), Verdict::Gone);
    assert!(of(&machine.report(), "level").is_quiescing);
    let mut served = 0;
    while let Some(seat) = running.pop() {
        served += 1;
        running.extend(turns(machine.finish(seat, ms(2))).map(|(_, seat)| seat));
    }
    assert_eq!(served, 10);
    let names: Vec<String> = machine
        .report()
        .into_iter()
        .map(|report| report.name)
        .collect();
    assert_eq!(names, ["catch-all", "exempt"]);
}

#[test]
fn fewer_or_more_queues_lose_no_request() {
    let (mut machine, id) = one_level(1, queued("level", 1, 64, 1, 50));
    let mut waiting = 0;
    let mut running = None;
    for hash in 0..40 {
        let arrival = Arrival {
            level: id,
            hash,
            work: Work::of(1),
        };
        match machine.arrive(arrival, ms(0), || 0) {
            Verdict::Executes(seat) => running = Some(seat),
            _ => waiting += 1,
        }
    }
    for queues in [2, 64, 1] {
        configure(
            &mut machine,
            &[queued("level", 1, queues, 1, 50), no_catch_all()],
            ms(1),
        );
    }
    while let Some(seat) = running.take() {
        running = turns(machine.finish(seat, ms(2)))
            .map(|(_, seat)| seat)
            .next();
        waiting -= i32::from(running.is_some());
    }
    assert_eq!(waiting, 0);
}

/// One step of a random history.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive {
        level: usize,
        hash: u64,
        seats: u32,
        final_seats: u32,
    },
    Finish(usize),
    Cancel(usize),
    Wait(u64),
    Reconfigure(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..2_usize, 0..4_u64, 1..12_u32, 0..4_u32).prop_map(|(level, hash, seats, final_seats)| {
            Step::Arrive { level, hash: hash * 0x9e37_79b9, seats, final_seats }
        }),
        4 => (0..64_usize).prop_map(Step::Finish),
        1 => (0..64_usize).prop_map(Step::Cancel),
        3 => (0..5_000_u64).prop_map(Step::Wait),
        1 => (1..20_u32).prop_map(Step::Reconfigure),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens, each request is served, refused or withdrawn exactly once, and seats add up.
    #[test]
    fn no_request_is_lost_and_no_seat_is_given_twice(steps in prop::collection::vec(step(), 1..200)) {
        let mut machine = Machine::<u32>::new(12, ms(0));
        let levels = |shares| [queued("a", shares, 8, 2, 5), queued("b", 10, 3, 1, 5)];
        let (mut ids, _) = configure(&mut machine, &levels(10), ms(0));
        let (mut now, mut name) = (0, 0);
        let mut running: Vec<Seat> = Vec::new();
        let mut waiting = BTreeMap::new();
        for step in steps {
            let mut turns = Vec::new();
            match step {
                Step::Arrive { level, hash, seats, final_seats } => {
                    name += 1;
                    let linger = ms(u64::from(final_seats) * 5);
                    let arrival = Arrival {
                        level: ids[["a", "b"][level]],
                        hash,
                        work: Work { seats, final_seats, linger },
                    };
                    match machine.arrive(arrival, ms(now), || name) {
                        Verdict::Executes(seat) => running.push(seat),
                        Verdict::Waits(place, others) => {
                            waiting.insert(name, place);
                            turns = others;
                        }
                        Verdict::Rejected(_) => {}
                        Verdict::Gone => prop_assert!(false),
                    }
                }
                Step::Finish(nth) if !running.is_empty() => {
                    let seat = running.swap_remove(nth % running.len());
                    turns = machine.finish(seat, ms(now));
                }
                Step::Cancel(nth) if !waiting.is_empty() => {
                    let (&name, &place) = waiting.iter().nth(nth % waiting.len()).unwrap();
                    prop_assert_eq!(machine.cancel(place, ms(now)), Some(name));
                    waiting.remove(&name);
                }
                Step::Wait(time) => {
                    now += time;
                    turns = machine.advance(ms(now));
                }
                Step::Reconfigure(shares) => (ids, turns) = configure(&mut machine, &levels(shares), ms(now)),
                Step::Finish(_) | Step::Cancel(_) => {}
            }
            for Dispatched { waiter, seat } in turns {
                prop_assert!(waiting.remove(&waiter).is_some());
                running.push(seat);
            }
            let reports = machine.report();
            let sum = |count: fn(&LevelReport) -> usize| reports.iter().map(count).sum::<usize>();
            prop_assert_eq!(sum(|report| report.waiting), waiting.len());
            prop_assert_eq!(sum(|report| report.executing), running.len());
        }
        // No starvation: with time and without arrivals, every request that waits is served.
        loop {
            now += 20_000;
            let mut turns = machine.advance(ms(now));
            if let Some(seat) = running.pop() {
                turns.append(&mut machine.finish(seat, ms(now)));
            } else if turns.is_empty() {
                break;
            }
            for Dispatched { waiter, seat } in turns {
                prop_assert!(waiting.remove(&waiter).is_some());
                running.push(seat);
            }
        }
        prop_assert!(waiting.is_empty(), "{:?} wait for ever", waiting);
        let idle = machine.report();
        prop_assert!(idle.iter().all(|report| report.seats_in_use == 0 && report.queues.is_empty()));
    }
}
