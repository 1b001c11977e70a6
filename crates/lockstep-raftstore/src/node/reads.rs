//! Linearizable reads by read index.
//!
//! Reads are confirmed in rounds. A round asks the leader for its commit index under a context of its own, and the
//! leader answers once a quorum has said that it still leads. A read joins only rounds that begin after it arrived, so
//! that the confirmation is newer than the read. Rounds that get no answer are asked again under a new context; an
//! answer to an old one is not used.

use super::events::RequestId;

/// Ticks after which a round is asked again.
const ROUND_TICKS: u64 = 5;

/// Waiting reads.
#[derive(Default)]
pub(super) struct Reads {
    boot: u64,
    rounds: u64,
    /// Reads that wait for the next round, with the ticks at which they are given up.
    arrived: Vec<(RequestId, u64)>,
    round: Option<Round>,
    /// Confirmed reads, with the index that has to be applied.
    confirmed: Vec<(u64, RequestId, u64)>,
}

struct Round {
    context: Vec<u8>,
    asked_at: u64,
    reads: Vec<(RequestId, u64)>,
}

impl Reads {
    pub(super) fn new(boot: u64) -> Self {
        Self {
            boot,
            ..Self::default()
        }
    }

    pub(super) fn arrive(&mut self, request: RequestId, deadline: u64) {
        self.arrived.push((request, deadline));
    }

    /// Starts a round if none is under way and reads wait, or asks the present one again. Returns the context to
    /// ask under.
    pub(super) fn ask(&mut self, now: u64) -> Option<Vec<u8>> {
        let is_due = match &self.round {
            Some(round) => now >= round.asked_at + ROUND_TICKS,
            None => !self.arrived.is_empty(),
        };
        if !is_due {
            return None;
        }
        let mut reads = self.round.take().map_or(Vec::new(), |round| round.reads);
        reads.append(&mut self.arrived);
        self.rounds += 1;
        let context = [self.boot.to_be_bytes(), self.rounds.to_be_bytes()].concat();
        self.round = Some(Round {
            context: context.clone(),
            asked_at: now,
            reads,
        });
        Some(context)
    }

    /// Ends the round that was asked under a context.
    pub(super) fn confirm(&mut self, context: &[u8], index: u64, takes_any: bool) {
        let is_current = |round: &mut Round| takes_any || round.context == context;
        let Some(round) = self.round.take_if(is_current) else {
            return;
        };
        let reads = round.reads.into_iter();
        let confirmed = reads.map(|(request, deadline)| (index, request, deadline));
        self.confirmed.extend(confirmed);
    }

    /// Takes the confirmed reads whose index is applied.
    pub(super) fn ready(&mut self, applied: u64) -> Vec<RequestId> {
        let ready = self
            .confirmed
            .extract_if(.., |(index, ..)| *index <= applied);
        ready.map(|(_, request, _)| request).collect()
    }

    /// Removes the reads whose time is over.
    pub(super) fn expire(&mut self, now: u64) -> Vec<RequestId> {
        let mut expired = Vec::new();
        let mut is_over = |(request, deadline): &(RequestId, u64)| {
            if *deadline <= now {
                expired.push(*request);
            }
            *deadline <= now
        };
        self.arrived.retain(|read| !is_over(read));
        if let Some(round) = &mut self.round {
            round.reads.retain(|read| !is_over(read));
        }
        self.confirmed
            .retain(|(_, request, deadline)| !is_over(&(*request, *deadline)));
        self.round.take_if(|round| round.reads.is_empty());
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: RequestId = RequestId(1);
    const B: RequestId = RequestId(2);

    #[test]
    fn a_read_joins_no_round_that_began_before_it() {
        let mut reads = Reads::new(7);
        reads.arrive(A, 100);
        let first = reads.ask(0).expect("a round begins");
        reads.arrive(B, 100);
        assert_eq!(reads.ask(1), None);
        reads.confirm(&first, 5, false);
        assert_eq!((reads.ready(4), reads.ready(5)), (vec![], vec![A]));
        let second = reads.ask(1).expect("another round begins");
        reads.confirm(&second, 9, false);
        assert_eq!(reads.ready(9), [B]);
    }

    #[test]
    fn an_answer_to_a_round_that_was_given_up_is_not_used() {
        let mut reads = Reads::new(7);
        reads.arrive(A, 100);
        let first = reads.ask(0).expect("a round begins");
        let again = reads.ask(ROUND_TICKS).expect("it is asked again");
        assert_ne!(first, again);
        reads.confirm(&first, 5, false);
        assert_eq!(reads.ready(100), []);
        reads.confirm(&again, 6, false);
        assert_eq!(reads.ready(100), [A]);
    }

    #[test]
    fn a_read_without_an_answer_is_given_up_wherever_it_waits() {
        let mut reads = Reads::new(7);
        reads.arrive(A, 10);
        let context = reads.ask(0).expect("a round begins");
        reads.confirm(&context, 50, false);
        reads.arrive(B, 11);
        assert_eq!(reads.expire(9), []);
        assert_eq!(reads.expire(11), [B, A]);
        assert_eq!(reads.ask(11), None);
    }
}
