//! Quota admission: charges a write to the quotas it matches.

use lockstep_gotext::quantity::Quantity;
use lockstep_object::Value;
use lockstep_object::metadata::Seconds;

use super::{Evaluator, Quota, Write};
use crate::amounts::{self, Amounts};

/// A write that is to be charged.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The operation.
    pub write: Write,
    /// The object as it is to be.
    pub new: &'a Value,
    /// The object as it is.
    pub old: Option<&'a Value>,
    /// Time of the write.
    pub now: Seconds,
}

/// A quota after a charge.
#[derive(Clone, PartialEq, Debug)]
pub struct Charge {
    /// Index into the given quotas.
    pub index: usize,
    /// The quota with what is used then.
    pub quota: Quota,
}

/// The quotas that are charged for a write, in their order, or why it is refused. All of what is limited has to be
/// counted ([`Quota::is_uncounted`]).
pub fn charge(
    evaluator: &Evaluator,
    quotas: &[Quota],
    attempt: &Attempt<'_>,
) -> Result<Vec<Charge>, String> {
    if !evaluator.may_increase_usage(attempt.write, attempt.new, attempt.old) {
        return Ok(Vec::new());
    }
    let new = evaluator.counted(attempt.new, attempt.now);
    let about = quotas.iter().enumerate();
    let about: Vec<_> = about
        .filter(|(_, quota)| quota.is_about(evaluator, &new))
        .collect();
    for (_, quota) in &about {
        let limited: Vec<&str> = quota.limited(evaluator).collect();
        if let Some(missing_resources) = evaluator.missing_resources(attempt.new, &limited) {
            return Err(format!("failed quota: {}: {missing_resources}", quota.name));
        }
    }
    let is_negative = |(_, amount): &(&String, &Quantity)| amount.sign() < 0;
    let negative: Vec<&str> = new.uses.iter().filter(is_negative).map(name_of).collect();
    if !negative.is_empty() {
        let negative = negative.join(",");
        return Err(format!(
            "quota usage is negative for resource(s): {negative}"
        ));
    }
    let old = attempt.old.map(|old| evaluator.counted(old, attempt.now));
    let mut charges = Vec::new();
    for (index, quota) in about {
        // An object that was out of scope before is charged in full.
        let before = old.as_ref().filter(|old| quota.is_about(evaluator, old));
        let more = match before {
            Some(before) => increase(&new.uses, &before.uses),
            None => new.uses.clone(),
        };
        let asked = quota.of_limited(&without_zeros(more));
        if asked.is_empty() {
            continue;
        }
        let quota = quota.charged(&asked, attempt.write)?;
        charges.push(Charge { index, quota });
    }
    Ok(charges)
}

impl Quota {
    /// The quota with more used, or why there is not enough.
    fn charged(&self, asked: &Amounts, write: Write) -> Result<Self, String> {
        let mut charged = self.clone();
        amounts::add(&mut charged.used, asked);
        let is_over = |name: &str| charged.used.get(name) > self.hard.get(name);
        let over: Vec<&String> = asked.keys().filter(|name| is_over(name)).collect();
        // A status update reports usage that already exists, so it is never rejected.
        if over.is_empty() || write == Write::Status {
            return Ok(charged);
        }
        let list = |amounts: &Amounts| {
            let listed = over
                .iter()
                .filter_map(|name| Some(format!("{name}={}", amounts.get(*name)?)));
            listed.collect::<Vec<_>>().join(",")
        };
        Err(format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            self.name,
            list(asked),
            list(&self.used),
            list(&self.hard)
        ))
    }
}

fn name_of<'a>((name, _): (&'a String, &Quantity)) -> &'a str {
    name
}

/// The increase from old to new usage.
fn increase(new: &Amounts, old: &Amounts) -> Amounts {
    let more = new.iter().map(|(name, amount)| {
        let difference = old.get(name).and_then(|old| amount.sub(old).ok());
        (name.clone(), difference.unwrap_or_else(|| amount.clone()))
    });
    more.filter(|(_, more)| more.sign() > 0).collect()
}

fn without_zeros(mut amounts: Amounts) -> Amounts {
    amounts.retain(|_, amount| amount.sign() != 0);
    amounts
}
