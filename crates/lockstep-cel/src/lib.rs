//! Common Expression Language (CEL) in the Kubernetes dialect: parse, check, estimate, evaluate and analyse
//! expressions.
//!
//! ```
//! use lockstep_cel::{Activation, Arena, Budget, Env, Type, Value, Version};
//!
//! let env = Env::kubernetes(Version::LATEST).with_variable("object", Type::Dyn);
//! let program = env.compile("object.spec.replicas <= 5").expect("it compiles");
//! let object = serde_json::json!({"spec": {"replicas": 3}});
//! let activation = Activation::new().with_json("object", &object);
//! let (arena, mut budget) = (Arena::new(), Budget::default());
//! let value = program.evaluate(&activation, &arena, &mut budget);
//! assert!(matches!(value, Ok(Value::Bool(true))));
//! assert_eq!(budget.spent(), 4);
//! ```

mod activation;
mod ast;
pub mod authorizer;
mod check;
pub mod conformance;
pub mod context;
mod cost;
mod dialect;
mod env;
mod estimate;
mod eval;
pub mod issue;
mod lexer;
mod library;
pub mod mutation;
mod parser;
pub mod paths;
mod plan;
mod program;
pub mod rule;
pub mod schema;
mod scope;
pub mod source;
mod types;
mod value;
mod words;

pub use activation::{Activation, Budget, EXPRESSION_COST_MAX};
pub use dialect::{Feature, Profile, Version, VersionError};
pub use env::Env;
pub use estimate::Estimate;
pub use issue::{Issue, Phase};
pub use program::{CheckedExpression, EvalError, Program};
pub use types::Type;
pub use value::{Arena, ConversionError, Duration, List, Map, Object, Opaque, Timestamp, Value};
pub use words::is_identifier;
