//! Rounds of mutating admission: policies and webhooks with `reinvocationPolicy: IfNeeded` run again if the object
//! changed after their run.

use std::collections::BTreeSet;

use lockstep_object::Value;

/// State of the one or two rounds of mutating webhooks. Webhooks are identified by their index.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rounds {
    is_second: bool,
    /// A webhook or a policy changed the object.
    is_changed: bool,
    /// Called webhooks with `reinvocationPolicy: IfNeeded` and no change since their call.
    called: BTreeSet<usize>,
    /// Webhooks due for reinvocation.
    again: BTreeSet<usize>,
    /// Object after the last webhook of a round.
    left: Value,
}

impl Rounds {
    /// Index of the round, from zero.
    pub fn number(&self) -> usize {
        usize::from(self.is_second)
    }

    /// Records that a policy changed the object, so that the chain runs once more. Webhooks come after policies, so none
    /// of them is due for that reason alone.
    pub fn policies_changed(&mut self) {
        self.is_changed = true;
    }

    /// Starts the second round if a webhook or policy changed the object in the first. There is no third.
    #[must_use]
    pub fn goes_on(&mut self) -> bool {
        let goes_on = self.is_changed && !self.is_second;
        self.is_second = true;
        goes_on
    }

    /// Starts the webhooks of a round. If other plugins changed the object since the first round, all called webhooks
    /// with `IfNeeded` are due again.
    pub fn begin(&mut self, object: &Value) {
        if self.is_second && self.left != *object {
            self.call_again();
        }
    }

    /// True if a matching webhook is called in this round. The second round calls only webhooks that are due for
    /// reinvocation.
    pub fn calls(&self, webhook: usize) -> bool {
        !self.is_second || self.again.contains(&webhook)
    }

    /// Records a call and whether it changed the object.
    pub fn called(&mut self, webhook: usize, changed: bool, if_needed: bool) {
        if changed {
            self.is_changed = true;
            self.call_again();
        }
        if if_needed {
            self.called.insert(webhook);
        }
    }

    /// Ends a round with the resulting object.
    pub fn end(&mut self, object: &Value) {
        self.left = object.clone();
    }

    fn call_again(&mut self) {
        self.again.append(&mut self.called);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the webhooks called in each round. Each one is given as its `IfNeeded` flag, and whether it changes
    /// the object in the first and in the second round.
    fn run(webhooks: &[(bool, [bool; 2])], others_change: bool) -> Vec<Vec<usize>> {
        let mut rounds = Rounds::default();
        let (mut all, mut object) = (Vec::new(), 0);
        loop {
            let mut calls = Vec::new();
            rounds.begin(&json!(object));
            for (at, (if_needed, changes)) in webhooks.iter().enumerate() {
                if rounds.calls(at) {
                    calls.push(at);
                    let changed = changes[rounds.number()];
                    object += i64::from(changed);
                    rounds.called(at, changed, *if_needed);
                }
            }
            rounds.end(&json!(object));
            all.push(calls);
            object += i64::from(others_change);
            if !rounds.goes_on() {
                return all;
            }
        }
    }

    /// api-machinery.md §12/webhook-order: `reinvocationPolicy` `IfNeeded`.
    #[test]
    fn a_webhook_is_called_once_more_if_a_later_one_changed_the_object() {
        let (asks, does_not) = (true, false);
        let (changes, never) = ([true, true], [false, false]);
        let first = [true, false];
        for (webhooks, others, expected) in [
            (&[(asks, never), (asks, never)][..], true, vec![vec![0, 1]]),
            (
                &[(asks, never), (asks, changes)],
                false,
                vec![vec![0, 1], vec![0]],
            ),
            (
                &[(does_not, never), (does_not, changes)],
                false,
                vec![vec![0, 1], vec![]],
            ),
            // A webhook's own change does not trigger its reinvocation.
            (&[(asks, changes)], false, vec![vec![0], vec![]]),
            // Changes by other plugins in the second round trigger reinvocation too.
            (&[(asks, changes)], true, vec![vec![0], vec![0]]),
            // A change in the second round makes the webhooks after it run again too.
            (
                &[(asks, changes), (asks, first)],
                false,
                vec![vec![0, 1], vec![0, 1]],
            ),
        ] {
            assert_eq!(run(webhooks, others), expected, "{webhooks:?} {others}");
        }
    }
}
