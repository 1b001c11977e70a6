//! API priority and fairness: the stored `FlowSchema` and `PriorityLevelConfiguration` objects decide which requests
//! are served now and which wait.
//!
//! The rules are those of `lockstep-fairness`; this is the shell that has the clock, the requests that wait, and the
//! stored objects. A configuration is in force when its write returns, because each request reads the watch cache.

mod conditions;
mod dump;
mod estimate;
mod meters;
mod seat;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderValue;
use lockstep_fairness::{
    Arrival, Classifier, Dispatched, Flow, FlowSchema, Machine, PriorityLevel,
};
use lockstep_object::Object;
use prometheus::proto::MetricFamily;
use tokio::time::Instant;

pub(crate) use conditions::keep_conditions;
pub(crate) use dump::Dump;
pub(crate) use estimate::is_heavy;
pub(crate) use seat::Permit;

use crate::authz::{self, Attributes};
use crate::cache::{Cache, Object as Cached, Parsed};
use crate::clock;
use crate::limits::Limits;
use crate::metrics::FairnessMeters;
use crate::request::{FlowHeaders, Request};
use crate::resources::Api;
use crate::seats::{NoSeat, Seats, Waiter};
use meters::FlowMeters;

/// Buckets of the two configuration kinds.
const SCHEMAS: &str = "flowschemas";
const LEVELS: &str = "prioritylevelconfigurations";

/// Longest time that a request waits for a seat, whatever its timeout.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Part of a request's timeout that it may wait.
const WAIT_PART: u32 = 4;

/// Seats and queues of a server.
pub(crate) struct Fairness {
    seats: Seats,
    schemas: Parsed<FlowSchema>,
    levels: Parsed<PriorityLevel>,
    config: ArcSwap<Config>,
    /// Key of the hash of flows, so that a client cannot choose names that share its queues with another.
    hasher: RandomState,
    meters: FairnessMeters,
}

/// The configuration in force.
struct Config {
    schemas: Arc<[Arc<FlowSchema>]>,
    levels: Arc<[Arc<PriorityLevel>]>,
    classifier: Classifier,
    /// In the order of the classifier's flows.
    flows: Vec<FlowState>,
}

/// Facts about a flow that each of its requests needs.
struct FlowState {
    headers: Option<FlowHeaders>,
    meters: FlowMeters,
}

/// Classification of a request.
pub(crate) struct Class {
    config: Arc<Config>,
    flow: usize,
}

impl Fairness {
    pub(crate) fn new(limits: &Limits, meters: FairnessMeters) -> Self {
        let seats = limits
            .requests_inflight_max
            .saturating_add(limits.mutating_requests_inflight_max);
        let total = u32::try_from(seats).unwrap_or(u32::MAX);
        let seats = Seats::new(|now| Machine::new(total, now));
        let none = (Arc::from([]), Arc::from([]));
        let (config, turns) =
            Config::compile(&mut seats.lock(), none.0, none.1, &meters, seats.now());
        seats.deliver(turns);
        Self {
            seats,
            schemas: Parsed::new(SCHEMAS, |stored| parsed(stored, FlowSchema::parse)),
            levels: Parsed::new(LEVELS, |stored| parsed(stored, PriorityLevel::parse)),
            config: ArcSwap::from_pointee(config),
            hasher: RandomState::new(),
            meters,
        }
    }

    /// Classifies a request; none if it is long-running and no watch, which takes no seat.
    pub(crate) fn classify(&self, request: &Request, cache: &Cache) -> Option<Class> {
        if request.info.is_long_running() && request.info.verb != "watch" {
            return None;
        }
        let config = self.config(cache);
        let flow = config.classifier.classify(&attributes(request));
        Some(Class { config, flow })
    }

    /// Waits for the seats of a request, for a quarter of its timeout at most. None if it is refused.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        mut class: Class,
        request: &Request,
        api: &Api,
        received: Instant,
        timeout: Duration,
    ) -> Option<Permit> {
        let began = clock::now().steady;
        let until = received + (timeout / WAIT_PART).min(WAIT_MAX);
        loop {
            let Class { config, flow } = &class;
            let flow_state = &config.flows[*flow];
            let (flow, meters) = (&config.classifier.flows()[*flow], &flow_state.meters);
            let work = estimate::work(request, flow, api);
            let arrival = Arrival {
                level: flow.id,
                hash: self.hash(flow, request),
                work,
            };
            let queued = || meters.queued(work);
            let seat = match self.seats.seat(arrival, Some(until), queued).await {
                Ok(seat) => Ok(seat),
                Err(NoSeat::Refused(reason)) => Err(reason),
                Err(NoSeat::Gone) => {
                    class = self.classify(request, api.cache())?;
                    request.notes.set_flow(class.headers());
                    continue;
                }
            };
            if !flow.is_exempt() {
                meters.waited(seat.is_ok(), clock::now().steady - began);
            }
            return match seat {
                Ok(seat) => {
                    let is_watch = request.info.verb == "watch";
                    Some(Permit::new(self, seat, meters.executing(work, is_watch)))
                }
                Err(reason) => {
                    let (level, schema) = (&flow.level.name, &flow.schema.name);
                    self.meters.reject(level, schema, reason);
                    None
                }
            };
        }
    }

    /// Gives back seats that lingered and lets levels borrow, when that is due; never returns.
    pub(crate) async fn keep(&self) {
        self.seats.keep().await;
    }

    /// Metrics of levels, computed from the current state.
    pub(crate) fn families(&self, cache: &Cache) -> Vec<MetricFamily> {
        drop(self.config(cache));
        meters::families(&self.seats.lock().report())
    }

    /// The configuration of the watch cache's current state.
    fn config(&self, cache: &Cache) -> Arc<Config> {
        let known = self.config.load();
        if known.is_of(&self.schemas.items(cache), &self.levels.items(cache)) {
            return Arc::clone(&known);
        }
        let mut machine = self.seats.lock();
        // Read under the lock, so that an older state never replaces a newer one.
        let (schemas, levels) = (self.schemas.items(cache), self.levels.items(cache));
        let known = self.config.load_full();
        if known.is_of(&schemas, &levels) {
            return known;
        }
        let now = self.seats.now();
        let (config, turns) = Config::compile(&mut machine, schemas, levels, &self.meters, now);
        let config = Arc::new(config);
        self.config.store(Arc::clone(&config));
        drop(machine);
        meters::forget(&self.meters, &known.classifier, &config.classifier);
        self.seats.deliver(turns);
        config
    }

    fn hash(&self, flow: &Flow, request: &Request) -> u64 {
        if flow.is_exempt() {
            return 0;
        }
        let distinguisher = flow.schema.distinguish(&attributes(request));
        self.hasher.hash_one((&flow.schema.name, distinguisher))
    }
}

impl Config {
    fn compile(
        machine: &mut Machine<Waiter>,
        schemas: Arc<[Arc<FlowSchema>]>,
        levels: Arc<[Arc<PriorityLevel>]>,
        meters: &FairnessMeters,
        now: Duration,
    ) -> (Self, Vec<Dispatched<Waiter>>) {
        let (classifier, turns) = Classifier::configure(machine, &schemas, &levels, now);
        let state = |flow: &Flow| FlowState {
            headers: headers(flow),
            meters: FlowMeters::new(meters, flow),
        };
        let flows = classifier.flows().iter().map(state).collect();
        let config = Self {
            schemas,
            levels,
            classifier,
            flows,
        };
        (config, turns)
    }

    fn is_of(&self, schemas: &Arc<[Arc<FlowSchema>]>, levels: &Arc<[Arc<PriorityLevel>]>) -> bool {
        Arc::ptr_eq(&self.schemas, schemas) && Arc::ptr_eq(&self.levels, levels)
    }
}

impl Class {
    /// Response headers of the request.
    pub(crate) fn headers(&self) -> Option<FlowHeaders> {
        self.config.flows[self.flow].headers.clone()
    }
}

/// None for flows that no stored object describes.
fn headers(flow: &Flow) -> Option<FlowHeaders> {
    let value = |uid: &str| HeaderValue::from_str(uid).ok();
    Some(FlowHeaders {
        schema: value(&flow.schema.uid)?,
        level: value(&flow.level.uid)?,
    })
}

fn attributes(request: &Request) -> Attributes<'_> {
    Attributes {
        user: &request.user,
        verb: &request.info.verb,
        target: authz::target(&request.info),
    }
}

fn parsed<T>(stored: &Cached, parse: fn(&Object) -> Option<T>) -> Vec<T> {
    let value = serde_json::from_slice(&stored.value).ok();
    let object = value.and_then(|value| Object::from_value(value).ok());
    object
        .and_then(|object| parse(&object))
        .into_iter()
        .collect()
}
