//! Any text as expression, any JSON as data: an error value, never a panic or an overflown stack.

use lockstep_cel::schema::{Resource, Schema};
use lockstep_cel::{Activation, Arena, Budget, Env, EvalError, Type, Version};
use serde_json::{Value as Json, json};

fn env() -> Env {
    Env::kubernetes(Version::LATEST)
        .with_variable("object", Type::Dyn)
        .with_mutation()
}

/// Compiles, estimates, analyses and runs; what comes out is not the point.
fn survive(env: &Env, text: &str, object: &Json) -> Option<Result<String, EvalError>> {
    let program = env.compile(text).ok()?;
    program.estimate();
    program.paths();
    let arena = Arena::new();
    let activation = Activation::new().with_json("object", object);
    let mut budget = Budget::new(100_000);
    let value = program.evaluate(&activation, &arena, &mut budget);
    Some(value.map(|value| {
        value
            .to_json()
            .map_or_else(|error| error.to_string(), |json| json.to_string())
    }))
}

/// Texts that nest as deep as the parser lets them.
#[test]
fn the_deepest_trees_run_on_a_small_stack() {
    let nest = |open: &str, core: &str, close: &str, count: usize| {
        open.repeat(count) + core + &close.repeat(count)
    };
    let long = |term: &str, joint: &str, count: usize| vec![term; count].join(joint);
    let texts = [
        long("1", "+", 499),
        long("object.a", "+", 490),
        long("object.a", "&&", 3_000),
        "object".to_owned() + &".a".repeat(490),
        "object".to_owned() + &"[0]".repeat(490),
        "object".to_owned() + &".?a".repeat(490),
        "object".to_owned() + &".a()".repeat(490),
        nest("[", "object", "]", 249),
        nest("{'a': ", "object", "}", 249),
        nest("size(", "object", ")", 249),
        nest("Object{a: ", "object", "}", 249),
        nest("true ? object : ", "object", "", 249),
        nest("[1].map(x, ", "object", ")", 120),
        nest("[1].all(x, ", "object.a", ")", 240),
        nest("object.optMap(x, ", "object", ")", 240),
        nest("!", "object", "", 9_999),
        "object".to_owned() + &".filter(x, true)".repeat(240),
        "object".to_owned() + &".map(x, x)".repeat(240),
        "object".to_owned() + &".sortBy(x, x)".repeat(240),
        "-".repeat(9_999) + "object",
    ];
    let objects = [json!({"a": 1}), json!([[[[]]]]), json!([1, 2])];
    for text in &texts {
        for object in &objects {
            survive(&env(), text, object);
        }
    }
}

/// Each variable uses the one before it; a chain that is too long is an error.
#[test]
fn chains_of_variables_end_in_a_value_or_an_error() {
    for (count, expected) in [(100, Ok("100".to_owned())), (2_000, Err(()))] {
        let mut env = env();
        let mut programs = vec![("v0".to_owned(), env.compile("1").unwrap())];
        for index in 1..=count {
            env = env.with_lazy_variable(&programs[index - 1].0, &programs[index - 1].1);
            let text = format!("variables.v{} + {}", index - 1, i32::from(index < count));
            programs.push((format!("v{index}"), env.compile(&text).unwrap()));
        }
        let arena = Arena::new();
        let activation = programs
            .iter()
            .fold(Activation::new(), |all, (name, program)| {
                all.with_lazy(name, program)
            });
        let value = programs[count]
            .1
            .evaluate(&activation, &arena, &mut Budget::default());
        let shown = value
            .map(|value| value.to_json().unwrap().to_string())
            .map_err(|_| ());
        assert_eq!(shown, expected, "{count}");
    }
}

/// Data far deeper than a JSON reader would let through by default.
#[test]
fn deep_data_is_compared_printed_and_searched() {
    let mut object = json!({"leaf": 1});
    for depth in 0..5_000 {
        object = if depth % 2 == 0 {
            Json::Array(vec![object])
        } else {
            Json::Object(std::iter::once(("a".to_owned(), object)).collect())
        };
    }
    let texts = [
        "object == object",
        "[object] == [object]",
        "{'a': object} == {'a': object}",
        "object in [object]",
        "'%s'.format([object])",
        "object",
        "Object{spec: object}",
        "[object].distinct()",
        "sets.equivalent([object], [object])",
        "[object].flatten(100000)",
        "optional.of(object) == optional.of(object)",
    ];
    for text in texts {
        survive(&env(), text, &object);
    }
    // Dropping such a value recurses in its own crate; it is not what is tested here.
    std::mem::forget(object);
}

/// Schemas are read as deep as types can be handled.
#[test]
fn deep_schemas_are_cut_off() {
    let mut schema = json!({"type": "integer"});
    for depth in 0..4_000 {
        let mut outer = serde_json::Map::new();
        let (kind, inner) = if depth % 2 == 0 {
            ("array", "items")
        } else {
            ("object", "additionalProperties")
        };
        outer.insert("type".to_owned(), json!(kind));
        outer.insert(inner.to_owned(), schema);
        schema = Json::Object(outer);
    }
    let name = "selfType";
    assert_eq!(Schema::from_structural(&schema, name, Resource::Part), None);
    std::mem::forget(schema);
}

/// Results that outgrow their price are refused, not built.
#[test]
fn growth_is_limited() {
    let long = json!({"s": "a".repeat(100_000), "l": vec!["a".repeat(1_000); 1_000]});
    let refused = Some(Err(EvalError::Memory));
    assert_eq!(
        survive(&env(), "object.s.replace('a', object.s).size()", &long),
        refused
    );
    assert_eq!(
        survive(
            &env(),
            "lists.range(99000).map(x, object.s + 'b').size()",
            &long
        ),
        Some(Err(EvalError::CostLimit))
    );
    let limit = Some(Err(EvalError::CostLimit));
    assert_eq!(
        survive(&env(), "lists.range(9223372036854775807)", &long),
        limit
    );
    assert_eq!(
        survive(
            &env(),
            "object.l.all(x, object.l.all(y, object.l.all(z, z == x)))",
            &long
        ),
        limit
    );
}

/// The cost limit and the caller's wish to stop are not absorbed by logic.
#[test]
fn limits_are_not_absorbed() {
    let program = env()
        .compile("[1, 2, 3].all(x, lists.range(99999).all(y, y >= 0)) || true")
        .unwrap();
    let (arena, activation) = (Arena::new(), Activation::new());
    let outcome = program.evaluate(&activation, &arena, &mut Budget::default());
    assert_eq!(outcome.err(), Some(EvalError::CostLimit));
    let stop = || true;
    let mut budget = Budget::new(u64::MAX).cancelled_by(&stop);
    let outcome = program.evaluate(&activation, &arena, &mut budget);
    assert_eq!(outcome.err(), Some(EvalError::Cancelled));
}

/// cel.md §3, cancellation check: every 100 iterations.
#[test]
fn the_caller_is_asked_every_hundred_turns() {
    let program = env().compile("lists.range(1000).all(x, x >= 0)").unwrap();
    let (arena, activation) = (Arena::new(), Activation::new());
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        false
    };
    let mut budget = Budget::default().cancelled_by(&stop);
    let value = program.evaluate(&activation, &arena, &mut budget);
    assert_eq!(value.map(|value| value.to_json()), Ok(Ok(json!(true))));
    assert_eq!(asked.get(), 10);
}

#[test]
fn programs_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<lockstep_cel::Program>();
    shared::<Env>();
}

/// Nothing is built, so nothing is put into the arena.
#[test]
fn reading_and_comparing_needs_no_memory() {
    let env = env();
    let object = json!({"a": {"b": 3}, "s": "abc"});
    for text in [
        "object.a.b <= 5",
        "object.s.startsWith('a') && object.s in ['abc', 'd']",
        "has(object.x) || object.s.matches('b')",
    ] {
        let program = env.compile(text).unwrap();
        let arena = Arena::new();
        let activation = Activation::new().with_json("object", &object);
        let value = program.evaluate(&activation, &arena, &mut Budget::default());
        assert_eq!(
            value.map(|value| value.to_json()),
            Ok(Ok(json!(true))),
            "{text}"
        );
        assert_eq!(format!("{arena:?}"), "Arena { bytes: 0, .. }", "{text}");
    }
}

/// Maps are gone over in the order of their keys, which is the order this crate's JSON keeps them in.
#[test]
fn maps_of_the_data_are_sorted() {
    let object: Json = serde_json::from_str(r#"{"b": 1, "a": 2, "é": 3, "B": 4}"#).unwrap();
    let program = env().compile("object.map(k, k)").unwrap();
    let arena = Arena::new();
    let activation = Activation::new().with_json("object", &object);
    let value = program
        .evaluate(&activation, &arena, &mut Budget::default())
        .unwrap();
    assert_eq!(value.to_json(), Ok(json!(["B", "a", "b", "é"])));
}

/// Functions that go over more than they cost stop after a fixed amount of work.
#[test]
fn work_without_a_price_is_limited() {
    let map: serde_json::Map<String, Json> = (0..5_000)
        .map(|index| (index.to_string(), json!(index)))
        .collect();
    let list: Vec<i32> = (0..1_000).collect();
    let object = json!({"u": "é".repeat(200_000), "l": list, "m": map});
    let twice = |body: &str| format!("object.l.all(x, object.l.all(y, {body}))");
    let ends = |body: &str| survive(&env(), &twice(body), &object);
    assert_eq!(
        ends("object.u.charAt(199999) == 'é'"),
        Some(Err(EvalError::Work))
    );
    assert_eq!(
        ends("'%s'.format([object.m]) != ''"),
        Some(Err(EvalError::Work))
    );
    // Short strings are sorted and joined for nothing.
    let object = json!({"l": list, "z": vec![""; 100_000]});
    for body in ["object.z.isSorted()", "object.z.join() == ''"] {
        let outcome = survive(&env(), &twice(body), &object);
        assert_eq!(outcome, Some(Err(EvalError::Work)), "{body}");
    }
    assert_eq!(ends("object.u.size() > 0"), Some(Err(EvalError::CostLimit)));
    assert_eq!(ends("object.u != ''"), Some(Err(EvalError::CostLimit)));
    assert_eq!(ends("!(-1 in object.l)"), Some(Err(EvalError::CostLimit)));
}
