//! `lockstep crd gates enable`, `disable` and `unset`.

use lockstep_featuregate::suggestion;
use lockstep_fieldgate::{GateList, MANAGER, State, Switch, SwitchError, Switched, switch};
use lockstep_object::Object;
use serde_json::{Value, json};

use super::{
    dry_run::{self, DryRun},
    source::{DEFINITIONS, Place, Source, one_of},
    word,
};
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
    remote::{Access, PatchKind, Reply},
};

/// Upper bound on the attempts of one write that fails with a conflict.
const ATTEMPTS_MAX: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The definition
    #[arg(value_name = "CRD")]
    definition: String,
    /// The gate
    gate: String,
    #[command(flatten)]
    dry_run: dry_run::Flag,
    /// Take over a choice that another field manager owns
    #[arg(long)]
    force_conflicts: bool,
    #[command(flatten)]
    source: Source,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments, how: Switch, quiet: bool) -> Result<Exit, Failure> {
    let place = arguments.source.place()?;
    match &place {
        Place::Server(access) => {
            let done = arguments.on_server(access, how)?;
            output::data(&match arguments.output {
                Format::Table => done.as_line(),
                format => format.render(&done.as_document()),
            });
            if !quiet {
                place.warn_if_idle();
            }
        }
        Place::Files(_) => {
            let definition = place.one(&arguments.definition)?;
            let plan = arguments.plan(&definition, how)?;
            if !quiet {
                output::tell(&Done::of(&definition, &plan, plan.after, arguments).as_line());
            }
            let format = match arguments.output {
                Format::Table => Format::Yaml,
                format => format,
            };
            output::data(&format.render(plan.definition.as_value()));
        }
    }
    Ok(Exit::Yes)
}

impl Arguments {
    fn plan(&self, definition: &Object, how: Switch) -> Result<Switched, Failure> {
        let plan = switch(definition, &self.gate, how).map_err(|error| told(&error, how))?;
        let is_others = plan.take.is_some() && !plan.holders.is_empty();
        if is_others && !self.force_conflicts {
            let holders = plan.holders.join("`, `");
            let message = format!("gate `{}` is set by `{holders}`", plan.gate);
            return Err(no(message).with_help("`--force-conflicts` removes what they set"));
        }
        Ok(plan)
    }

    /// Reads the CRD, changes it and writes it back; retries from the read on a conflict.
    fn on_server(&self, access: &Access, how: Switch) -> Result<Done, Failure> {
        for _ in 0..ATTEMPTS_MAX {
            let definition = one_of(access, &self.definition)?;
            let plan = self.plan(&definition, how)?;
            let done = Done::of(&definition, &plan, plan.after, self);
            let is_unset = how == Switch::Unset && plan.before == plan.after && plan.take.is_none();
            if self.dry_run.dry_run == DryRun::Client || is_unset {
                return Ok(done);
            }
            let reply = self.send(access, &definition, &plan)?;
            if reply.is_done() {
                reply.tell_warnings();
                return Done::after(done, reply);
            }
            if reply.is_ownership_conflict() {
                return Err(owned(&plan, &reply));
            }
            let is_moved = reply.code == 409 || (plan.take.is_some() && reply.code == 422);
            if !is_moved {
                let path = format!("{DEFINITIONS}/{}", definition.name());
                return Err(access.refused(&reply, &path));
            }
        }
        let message = format!("`{}` changes all the time", self.definition);
        Err(Failure::of_server(Exit::Unreachable, message).with_help("try again"))
    }

    fn send(
        &self,
        access: &Access,
        definition: &Object,
        plan: &Switched,
    ) -> Result<Reply, Failure> {
        let (name, dry_run) = (definition.name(), self.dry_run.dry_run.query());
        let path = format!("{DEFINITIONS}/{name}?fieldManager={MANAGER}{dry_run}");
        match &plan.take {
            Some(take) => access.patch(&path, PatchKind::Json, take),
            None => {
                let path = format!("{path}&force={}", self.force_conflicts);
                access.patch(&path, PatchKind::Apply, &plan.apply)
            }
        }
    }
}

/// Result of setting or unsetting one gate.
struct Done {
    definition: String,
    gate: String,
    /// Its name alone.
    name: String,
    stage: &'static str,
    before: State,
    after: State,
    dry_run: DryRun,
    warnings: Vec<String>,
}

impl Done {
    fn of(definition: &Object, plan: &Switched, after: State, arguments: &Arguments) -> Self {
        Self {
            definition: definition.name().to_owned(),
            gate: plan.gate.clone(),
            name: arguments.gate.clone(),
            stage: plan.stage.as_str(),
            before: plan.before,
            after,
            dry_run: arguments.dry_run.dry_run,
            warnings: Vec::new(),
        }
    }

    /// As the server answers that it is.
    fn after(self, reply: Reply) -> Result<Self, Failure> {
        let stored = Object::from_value(reply.body).ok();
        let gates = stored
            .map(|stored| GateList::of(&stored))
            .unwrap_or_default();
        let gate = gates.gates.iter().find(|gate| gate.name == self.name);
        let Some(gate) = gate else {
            let message = format!("`{}` lost gate `{}`", self.definition, self.gate);
            return Err(no(message));
        };
        Ok(Self {
            after: gate.state(),
            warnings: reply.warnings,
            ..self
        })
    }

    fn as_line(&self) -> String {
        let told = |state: State| format!("{} ({})", word(state.enabled), state.rule.as_str());
        let (before, after) = (told(self.before), told(self.after));
        let change = if before == after {
            format!("{before}, unchanged")
        } else {
            format!("{before} → {after}")
        };
        let remark = self.dry_run.remark();
        let Self {
            definition,
            gate,
            stage,
            ..
        } = self;
        format!("{definition} {gate} ({stage}): {change}{remark}\n")
    }

    fn as_document(&self) -> Value {
        let state = |state: State| json!({ "enabled": state.enabled, "rule": state.rule.as_str() });
        output::document(
            "FieldGateChange",
            json!({
                "crd": self.definition,
                "gate": self.name,
                "stage": self.stage,
                "before": state(self.before),
                "after": state(self.after),
                "dryRun": self.dry_run.name(),
                "warnings": self.warnings,
            }),
        )
    }
}

fn no(message: String) -> Failure {
    Failure::of_server(Exit::No, message)
}

fn told(error: &SwitchError, how: Switch) -> Failure {
    let message = error.to_string();
    match error {
        SwitchError::Unknown { gate, known, .. } => {
            let failure = Failure::bad_input(message);
            match suggestion(gate, known.iter().map(String::as_str)) {
                Some(close) => failure.with_help(format!("did you mean `{close}`?")),
                None if known.is_empty() => failure,
                None => failure.with_help(format!("it has {}", known.join(", "))),
            }
        }
        SwitchError::Stable(_) if how == Switch::Enable => {
            no(message).with_help("there is nothing to switch on")
        }
        SwitchError::Stable(_) => no(message)
            .with_help("ask the author of the definition; a stable field cannot be switched off"),
        SwitchError::InAnnotation(_) => no(message).with_help(
            "change the text with `kubectl annotate --overwrite`, or move the gates to spec.customFeatureGates",
        ),
    }
}

/// Failure for a gate whose value is owned by another field manager.
fn owned(plan: &Switched, reply: &Reply) -> Failure {
    let told = reply.message();
    let message = match &*plan.holders.join("`, `") {
        "" => format!("gate `{}`: {told}", plan.gate),
        holders => format!("gate `{}` is set by `{holders}`", plan.gate),
    };
    no(message).with_help("`--force-conflicts` takes it over")
}
