//! Parts of the table that are not upstream's: fields and types of our own, and the older versions of policies, whose
//! types are those of `v1`.

use std::fmt::Write as _;

pub(super) const APIEXTENSIONS: &str = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1";
const ADMISSION: &str = "k8s.io/api/admissionregistration/v1";

/// Fields of a type that are ours.
pub(super) fn fields(path: &str, name: &str) -> impl Iterator<Item = &'static str> {
    let own = FIELDS
        .iter()
        .filter(move |own| (own.0, own.1) == (path, name));
    own.map(|own| own.2)
}

/// Types of a package that are ours, with their fields.
pub(super) fn types(path: &str) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let own = TYPES.iter().filter(move |own| own.0 == path);
    own.map(|own| (own.1, own.2))
}

/// The rows of a type, with the facts that our own fields change.
pub(super) fn amended(path: &str, name: &str, mut rows: String) -> String {
    let changes = CHANGES.iter();
    for (_, _, from, to) in changes.filter(|change| (change.0, change.1) == (path, name)) {
        rows = rows.replace(from, to);
    }
    rows
}

/// The packages of older versions of policies. Types that webhooks alone use are left out, and so are validating
/// policies, which Kubernetes no longer serves in these versions.
pub(super) fn older_versions(path: &str, table: &str) -> String {
    let mut older = String::new();
    if path != ADMISSION {
        return older;
    }
    let begin = "package admissionregistration/v1 ";
    let package = table.find(begin).map_or("", |at| &table[at..]);
    for version in ["v1beta1", "v1alpha1"] {
        let _infallible = writeln!(
            older,
            "package admissionregistration/{version} io.k8s.api.admissionregistration.{version} admissionregistration.k8s.io {version}"
        );
        let mut is_kept = false;
        for line in package.lines().skip(1) {
            if !line.starts_with(' ') {
                let name = line.split(' ').nth(1).unwrap_or_default();
                is_kept = !is_left_out(name);
            }
            let line = match line {
                " . RuleWithOperations 2 -" => " . admissionregistration/v1.RuleWithOperations 2 -",
                line => line,
            };
            if is_kept {
                older.push_str(line);
                older.push('\n');
            }
            if is_kept && version == "v1alpha1" && line == "type ParamKind atomic" {
                older.push_str(EARLY_SHAPE);
            }
        }
    }
    older
}

fn is_left_out(name: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "AuditAnnotation",
        "OperationType",
        "Rule",
        "RuleWithOperations",
        "ScopeType",
        "ServiceReference",
        "SideEffectClass",
        "Validation",
        "ValidationAction",
    ];
    OTHERS.contains(&name) || name.contains("Webhook") || name.starts_with("Validating")
}

/// The shape of `paramKind` in the first design of policies (mutating-admission.md §0/10).
const EARLY_SHAPE: &str = " group string - o\n version string - o\n";

/// Facts of upstream's rows that our fields change: package, type, the row, and the row as it should be.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    (
        ADMISSION,
        "Mutation",
        " patchType PatchType 2 r ",
        " patchType PatchType 2 o ",
    ),
    (
        ADMISSION,
        "MutatingAdmissionPolicySpec",
        "enum=IfNeeded|Never",
        "enum=IfAffected|IfNeeded|Never",
    ),
];

/// Fields of ours in types of upstream: those without a tag are not part of messages.
const FIELDS: &[(&str, &str, &str)] = &[
    (
        APIEXTENSIONS,
        "CustomResourceDefinitionSpec",
        "customFeatureGates *CustomResourceDefinitionFeatureGates - o",
    ),
    (
        APIEXTENSIONS,
        "CustomResourceDefinitionStatus",
        "customFeatureGates []CustomResourceDefinitionFeatureGateStatus - o list=map:name",
    ),
    (
        ADMISSION,
        "ApplyConfiguration",
        "unset *string - o enum=Ignore|Remove",
    ),
    (
        ADMISSION,
        "ApplyConfiguration",
        "atomics *string - o enum=Reject|Replace",
    ),
    (
        ADMISSION,
        "MutatingAdmissionPolicy",
        "status *MutatingAdmissionPolicyStatus - o",
    ),
    (
        ADMISSION,
        "MutatingAdmissionPolicyBindingSpec",
        "enforcement *string - o enum=Apply|DryRun",
    ),
    (
        ADMISSION,
        "MutatingAdmissionPolicySpec",
        "reinvocationLimit *int32 - o",
    ),
    (
        ADMISSION,
        "MutatingAdmissionPolicySpec",
        "convergencePolicy *string - o enum=Deny|Report|Warn",
    ),
    (
        ADMISSION,
        "MutatingAdmissionPolicySpec",
        "mutationValidationPolicy *string - o enum=Fail|Skip|Warn",
    ),
    (ADMISSION, "Mutation", "name *string - o"),
    (ADMISSION, "Mutation", "apply *string - o"),
    (ADMISSION, "Mutation", "scope *string - o"),
    (ADMISSION, "Mutation", "safety *MutationSafety - o"),
];

/// Types of ours, with their fields.
const TYPES: &[(&str, &str, &[&str])] = &[
    (
        APIEXTENSIONS,
        "CustomResourceDefinitionFeatureGate",
        &[
            "name string - or",
            "enabled *bool - o",
            "default *bool - o",
            "preRelease string - or",
            "fieldDeprecationWarning *string - o",
            "fieldPaths []string - or list=set",
        ],
    ),
    (
        APIEXTENSIONS,
        "CustomResourceDefinitionFeatureGateStatus",
        &["name string - r", "enabled bool - r", "rule string - r"],
    ),
    (
        APIEXTENSIONS,
        "CustomResourceDefinitionFeatureGates",
        &[
            "component *string - o",
            "disabledFieldPolicy *string - o",
            "featureGates []CustomResourceDefinitionFeatureGate - or list=map:name",
        ],
    ),
    (
        ADMISSION,
        "MutatingAdmissionPolicyStatus",
        &[
            "observedGeneration int64 - o",
            "typeChecking *TypeChecking - o",
            "mutations []MutationFacts - o list=atomic",
            "conflicts []MutationConflict - o list=atomic",
            "conditions []meta/v1.Condition - o list=map:type",
        ],
    ),
    (
        ADMISSION,
        "MutationConflict",
        &[
            "policyName string - o",
            "webhook string - o",
            "mutation string - o",
            "fieldPath string - o",
            "resource string - o",
            "count int64 - o",
            "lastTime *meta/v1.Time - o",
        ],
    ),
    (
        ADMISSION,
        "MutationFacts",
        &[
            "index int32 - -",
            "name string - o",
            "scope string - o",
            "reads []string - o list=atomic",
            "writes []string - o list=atomic",
        ],
    ),
    (
        ADMISSION,
        "MutationSafety",
        &[
            "mode *string - o enum=Conditional|Exact|Overwritable",
            "action *string - o enum=Fail|Warn",
            "conditions []SafetyCondition - o list=atomic",
        ],
    ),
    (
        ADMISSION,
        "SafetyCondition",
        &["expression string - r", "message string - o"],
    ),
];
