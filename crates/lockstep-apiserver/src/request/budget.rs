//! Bounds of the request bodies that a server holds: by connection, by user, and in all.
//!
//! A body takes its whole length before its first byte is read. So bodies that arrive slowly hold what they announced
//! and no more, and a user who announces much waits for himself and not for others. Service accounts of a namespace
//! count as one user, since a user of the namespace can create any number of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{BODIES_BYTES_MAX, CONNECTION_BODIES_BYTES_MAX, USER_BODIES_BYTES_MAX};

/// Prefix of the names of service accounts, which are `system:serviceaccount:NAMESPACE:NAME`.
const ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Bytes that are counted as one.
const UNIT_BYTES: usize = 1024;

/// Budget of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionBudget(Arc<Semaphore>);

/// Budget of a server.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    all: Arc<Semaphore>,
    user_bytes_max: usize,
    users: Mutex<BTreeMap<Arc<str>, Arc<Semaphore>>>,
}

/// Part of the budgets that a body holds.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<BodyBudget>,
    user: Arc<str>,
    /// Budget of the user, until the drop.
    of_user: Option<Arc<Semaphore>>,
    held: Vec<OwnedSemaphorePermit>,
}

impl Default for ConnectionBudget {
    fn default() -> Self {
        Self(semaphore(CONNECTION_BODIES_BYTES_MAX))
    }
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self::new(BODIES_BYTES_MAX, USER_BODIES_BYTES_MAX)
    }
}

impl BodyBudget {
    fn new(bytes_max: usize, user_bytes_max: usize) -> Self {
        Self {
            all: semaphore(bytes_max),
            user_bytes_max,
            users: Mutex::default(),
        }
    }

    /// Waits until there is room for a body, in the order of arrival.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        connection: &ConnectionBudget,
        user: &str,
        bytes: usize,
    ) -> Option<Reservation> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES).max(1)).ok()?;
        let (user, of_user) = self.user(sharer(user));
        let connection = Arc::clone(&connection.0);
        let all = Arc::clone(&self.all);
        let mut reservation = Reservation {
            budget: Arc::clone(self),
            user,
            of_user: Some(Arc::clone(&of_user)),
            held: Vec::with_capacity(3),
        };
        // In this order: to wait for others of the connection or the user takes nothing from strangers.
        for budget in [connection, of_user, all] {
            let permit = budget.acquire_many_owned(units).await.ok()?;
            reservation.held.push(permit);
        }
        Some(reservation)
    }

    fn user(&self, name: &str) -> (Arc<str>, Arc<Semaphore>) {
        let mut users = self.users.lock();
        if let Some((name, budget)) = users.get_key_value(name) {
            return (Arc::clone(name), Arc::clone(budget));
        }
        let (name, budget) = (Arc::from(name), semaphore(self.user_bytes_max));
        users.insert(Arc::clone(&name), Arc::clone(&budget));
        (name, budget)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.held.clear();
        self.of_user = None;
        let mut users = self.budget.users.lock();
        let is_last = |budget: &Arc<Semaphore>| Arc::strong_count(budget) == 1;
        if users.get(&self.user).is_some_and(is_last) {
            users.remove(&self.user);
        }
    }
}

/// Name under which a user takes a share of the server: for a service account, that of all accounts of its namespace.
pub(crate) fn sharer(user: &str) -> &str {
    let account = user.strip_prefix(ACCOUNT_PREFIX);
    let name = account.and_then(|account| account.split_once(':'));
    name.map_or(user, |(_, name)| &user[..user.len() - name.len()])
}

fn semaphore(bytes: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(bytes / UNIT_BYTES))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_user_who_announces_much_waits_for_himself_and_not_for_others() {
        let budget = Arc::new(BodyBudget::new(16 * UNIT_BYTES, 4 * UNIT_BYTES));
        let connection = ConnectionBudget::default();
        let reserve = |user, units| budget.reserve(&connection, user, units * UNIT_BYTES);
        let held = reserve("alice", 3).await.expect("there is room");
        let mut more = Box::pin(reserve("alice", 2));
        assert!((&mut more).now_or_never().is_none());
        assert!(reserve("bob", 4).now_or_never().flatten().is_some());
        drop(held);
        assert!(more.now_or_never().flatten().is_some());
        assert!(budget.users.lock().is_empty());
        assert_eq!(budget.all.available_permits(), 16);
    }

    #[tokio::test]
    async fn accounts_of_a_namespace_share_one_budget() {
        let budget = Arc::new(BodyBudget::new(16 * UNIT_BYTES, 4 * UNIT_BYTES));
        let connection = ConnectionBudget::default();
        let mut held = Vec::new();
        for account in 0..16 {
            let user = format!("system:serviceaccount:crowd:{account}");
            let reserved = budget.reserve(&connection, &user, UNIT_BYTES);
            held.extend(reserved.now_or_never().flatten());
        }
        assert_eq!(held.len(), 4);
        for other in ["system:serviceaccount:crow:d", "system:node:a", "alice"] {
            let reserved = budget.reserve(&connection, other, 4 * UNIT_BYTES);
            held.extend(reserved.now_or_never().flatten());
        }
        assert_eq!(held.len(), 7);
        drop(held);
        assert!(budget.users.lock().is_empty());
    }

    #[tokio::test]
    async fn a_connection_and_all_together_have_their_own_bounds() {
        let budget = Arc::new(BodyBudget::new(16 * UNIT_BYTES, 12 * UNIT_BYTES));
        let (one, other) = (
            ConnectionBudget(semaphore(8 * UNIT_BYTES)),
            ConnectionBudget::default(),
        );
        let held = budget.reserve(&one, "alice", 7 * UNIT_BYTES).await;
        assert!(held.is_some());
        assert!(
            budget
                .reserve(&one, "alice", 2 * UNIT_BYTES)
                .now_or_never()
                .is_none()
        );
        let more = budget.reserve(&other, "bob", 9 * UNIT_BYTES).await;
        assert!(more.is_some());
        assert!(budget.reserve(&other, "carol", 1).now_or_never().is_none());
        drop(more);
        assert!(
            budget
                .reserve(&other, "carol", 1)
                .now_or_never()
                .flatten()
                .is_some()
        );
    }
}
