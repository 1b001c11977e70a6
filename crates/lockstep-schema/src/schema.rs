//! The public interface of a compiled schema.

use crate::compile::{self, CompileError, Place};
use crate::correlate::Old;
use crate::node::Node;
use crate::rules::Evaluation;
use crate::validate::Findings;
use crate::view::View;
use crate::{default, embedded, lists, prune, validate};
use lockstep_cel::Version;
use lockstep_object::field::{ErrorType, FieldError, FieldErrors, Path};
use lockstep_object::metadata::Malformed;
use serde_json::Value;

/// The compiled schema of one version of a custom resource.
///
/// Client input passes [`coerce`](Self::coerce), [`prune`](Self::prune), [`default`](Self::default) and, after
/// admission, [`validate`](Self::validate); objects read from the store pass the first three. A schema is immutable and
/// can be shared between threads.
#[derive(Debug)]
pub struct Schema {
    root: Node,
}

/// Result of a validation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Validation errors, in order of discovery.
    pub errors: FieldErrors,
    /// Errors in unchanged parts of the object, ratcheted to warnings; the first ones.
    pub warnings: Vec<String>,
}

/// Part of an object that a request may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// `status` alone: the rest is as it was stored.
    Status,
}

impl Schema {
    /// Compiles a schema that was [checked](crate::check) when it was written.
    ///
    /// CEL features of all versions are accepted, so that stored schemas keep working.
    pub fn compile(schema: &Value) -> Result<Self, CompileError> {
        let root = compile::compile(schema, Place::Root, Version::LATEST)?;
        Ok(Self { root })
    }

    /// The schema for those who walk it.
    pub fn view(&self) -> View<'_> {
        View::of(&self.root)
    }

    /// Normalizes type and metadata of the resource and of embedded resources. Unknown metadata fields are dropped and
    /// reported.
    pub fn coerce(
        &self,
        object: &mut Value,
        malformed: Malformed,
        unknown: &mut Vec<String>,
    ) -> Result<(), FieldError> {
        embedded::coerce_root(object, &self.root, malformed, unknown)
    }

    /// Variant of [`coerce`](Self::coerce) for embedded resources only; free if the schema has none.
    pub fn coerce_embedded(
        &self,
        object: &mut Value,
        malformed: Malformed,
        unknown: &mut Vec<String>,
    ) -> Result<(), FieldError> {
        embedded::coerce_part(object, &self.root, malformed, unknown, &Path::ROOT)
    }

    /// Drops fields that the schema does not know, and names them.
    pub fn prune(&self, object: &mut Value, unknown: &mut Vec<String>) {
        prune::prune_root(object, &self.root, unknown);
    }

    /// Drops nulls that may not be and have no default, and fills in nothing.
    pub fn drop_nulls(&self, object: &mut Value) {
        default::drop_nulls(object, &self.root);
    }

    /// Drops nulls that may not be, and fills in defaults, of which no more than [`DEFAULTED_BYTES_MAX`] are added: an
    /// object with that many is too large to be stored.
    ///
    /// [`DEFAULTED_BYTES_MAX`]: crate::DEFAULTED_BYTES_MAX
    pub fn default(&self, object: &mut Value) {
        default::default_root(object, &self.root);
    }

    /// True if the schema has CEL validation rules.
    pub fn has_rules(&self) -> bool {
        self.root.work.rules
    }

    /// Judges an object. With the stored object it replaces, rules see `oldSelf`, and errors in parts that did not
    /// change are forgiven. Metadata of the resource itself is not judged here.
    pub fn validate(&self, object: &Value, stored: Option<&Value>, part: Part) -> Outcome {
        let (mut errors, mut warnings) = self.validate_values(object, stored, part);
        embedded::validate(object, &self.root, &Path::ROOT, &mut errors);
        errors.append(self.validate_lists(object, stored));
        if self.root.work.rules {
            // Errors that were only counted may be among those.
            if errors.more() > 0 || errors.iter().any(is_blocking) {
                errors.push(rules_not_checked());
            } else {
                let mut evaluation = Evaluation::new();
                evaluation.run(&self.root, object, Old(stored), &Path::ROOT);
                errors.append(evaluation.errors);
                warnings.extend(evaluation.warnings.iter().map(FieldError::to_string));
            }
        }
        Outcome { errors, warnings }
    }

    fn validate_values(
        &self,
        object: &Value,
        stored: Option<&Value>,
        part: Part,
    ) -> (FieldErrors, Vec<String>) {
        if part == Part::Whole {
            let mut findings = Findings::below(0);
            validate::validate(&self.root, object, Old(stored), &Path::ROOT, &mut findings);
            return findings.into_parts();
        }
        let mut findings = Findings::below(1);
        if let (Some(status), Some(node)) =
            (object.get("status"), self.root.properties().get("status"))
        {
            let old = Old(stored).field("status");
            validate::validate(
                node,
                status,
                old,
                &Path::ROOT.field("status"),
                &mut findings,
            );
        }
        findings.into_parts()
    }

    /// Lists that were wrong before may stay so.
    fn validate_lists(&self, object: &Value, stored: Option<&Value>) -> FieldErrors {
        let judge = |value: &Value| {
            let mut errors = FieldErrors::new();
            lists::validate(value, &self.root, &Path::ROOT, &mut errors);
            errors
        };
        let errors = judge(object);
        match stored {
            Some(stored) if !errors.is_empty() && !judge(stored).is_empty() => FieldErrors::new(),
            _ => errors,
        }
    }
}

/// Errors after which rules could not trust what they read.
fn is_blocking(error: &FieldError) -> bool {
    matches!(
        error.error_type,
        ErrorType::NotSupported
            | ErrorType::Required
            | ErrorType::TooLong
            | ErrorType::TooMany
            | ErrorType::TypeInvalid
    )
}

fn rules_not_checked() -> FieldError {
    let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to \
                  complete validation";
    FieldError::invalid(&Path::ROOT, &Value::Null, detail)
}
