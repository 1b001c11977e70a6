//! Classification: the flow schema and priority level of a request.

use std::sync::Arc;
use std::time::Duration;

use lockstep_authz::Attributes;

use crate::level::{Kind, PriorityLevel};
use crate::machine::{LevelId, Machine};
use crate::queues::Dispatched;
use crate::schema::FlowSchema;
use crate::{CATCH_ALL, EXEMPT};

/// A flow schema with its level.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The schema.
    pub schema: Arc<FlowSchema>,
    /// Its level.
    pub level: Arc<PriorityLevel>,
    /// The level in the machine.
    pub id: LevelId,
    /// Most seats of one request.
    pub seats_max: u32,
}

/// Flow schemas in the order in which they are asked.
#[derive(Clone, Debug)]
pub struct Classifier(Vec<Flow>);

impl Classifier {
    /// Puts levels into force in the machine, and makes the classifier that sends requests to them. Schemas without a
    /// level are left out; mandatory ones that are missing are added.
    pub fn configure<W>(
        machine: &mut Machine<W>,
        schemas: &[Arc<FlowSchema>],
        levels: &[Arc<PriorityLevel>],
        now: Duration,
    ) -> (Self, Vec<Dispatched<W>>) {
        let (levels, dispatched) = machine.configure(levels, now);
        let mut schemas = schemas.to_vec();
        schemas.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
        if !schemas.iter().any(|schema| schema.name == EXEMPT) {
            schemas.insert(0, Arc::new(FlowSchema::mandatory_exempt()));
        }
        if !schemas.iter().any(|schema| schema.name == CATCH_ALL) {
            schemas.push(Arc::new(FlowSchema::mandatory_catch_all()));
        }
        let flows = schemas.into_iter().filter_map(|schema| {
            let configured = levels.get(&schema.level)?.clone();
            Some(Flow {
                schema,
                level: configured.level,
                id: configured.id,
                seats_max: configured.seats_max,
            })
        });
        let mut flows: Vec<Flow> = flows.collect();
        if !flows.iter().any(|flow| flow.schema.name == CATCH_ALL) {
            // The stored schema names a level that does not exist. Requests need a flow all the same.
            let catch_all = &levels[CATCH_ALL];
            flows.push(Flow {
                schema: Arc::new(FlowSchema::mandatory_catch_all()),
                level: Arc::clone(&catch_all.level),
                id: catch_all.id,
                seats_max: catch_all.seats_max,
            });
        }
        (Self(flows), dispatched)
    }

    /// All flows, in the order in which they are asked.
    pub fn flows(&self) -> &[Flow] {
        &self.0
    }

    /// Index of the flow of a request. Every request has one: the last resort is `catch-all`.
    pub fn classify(&self, request: &Attributes<'_>) -> usize {
        let found = self.0.iter().position(|flow| flow.schema.matches(request));
        let catch_all = || self.0.iter().position(|flow| flow.schema.name == CATCH_ALL);
        found.or_else(catch_all).unwrap_or(0)
    }
}

impl Flow {
    /// True if requests of this flow are never limited.
    pub fn is_exempt(&self) -> bool {
        self.level.kind == Kind::Exempt
    }
}
