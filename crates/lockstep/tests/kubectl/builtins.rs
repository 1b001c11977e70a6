//! Schemas that kubectl reads before it sends built-in kinds, and its requests, on the real binary: protobuf bodies
//! and OpenAPI (api-machinery.md T1, T3, T4).

use crate::server::on_each_store;

const CRD: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.ex.io"},
  "spec": {"group": "ex.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
    "versions": [{"name": "v1", "served": true, "storage": true,
      "schema": {"openAPIV3Schema": {"type": "object", "description": "A widget.", "properties": {"spec": {"type": "object",
        "required": ["size"], "description": "What is wanted.",
        "properties": {"size": {"type": "integer", "description": "How large."},
          "colour": {"type": "string", "enum": ["red", "blue"]}}}}}}}]}}"#;
const WIDGET: &str = r#"{"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}"#;
const CONFIG_MAP: &str =
    r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}}"#;

/// §0/T1: kubectl sends these as protobuf since 1.32.
#[test]
fn kubectl_creates_built_in_kinds_from_its_own_commands() {
    on_each_store(|server| {
        server.says(
            "create configmap a --from-literal=k=v",
            "configmap/a created",
        );
        server.says("get configmap a -o jsonpath={.data}", r#"{"k":"v"}"#);
        server.says(
            "create secret generic s --from-literal=p=q",
            "secret/s created",
        );
        server.says("get secret s -o jsonpath={.data.p}{.type}", "cQ==Opaque");
        server.says("create namespace other", "namespace/other created");
        server.says(
            "create serviceaccount robot",
            "serviceaccount/robot created",
        );
        server.says(
            "create role r --verb=get,list --resource=configmaps",
            "role.rbac.authorization.k8s.io/r created",
        );
        server.says(
            "get role r -o jsonpath={.rules}",
            r#"[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]"#,
        );
        server.says(
            "create rolebinding b --role=r --serviceaccount=default:robot",
            "rolebinding.rbac.authorization.k8s.io/b created",
        );
        server.says(
            "create clusterrolebinding b --clusterrole=view --user=u",
            "clusterrolebinding.rbac.authorization.k8s.io/b created",
        );
        server.says(
            "auth can-i list configmaps --as=system:serviceaccount:default:robot",
            "yes",
        );
        server.says("delete secret s", "secret \"s\" deleted");
    });
}

/// §0/T3, §0/T4, §2/explain: no flag turns validation off here.
#[test]
fn kubectl_validates_and_explains_with_what_the_server_publishes() {
    on_each_store(|server| {
        let create = |input: &str| server.kubectl("create -f -", input);
        assert_eq!(
            create(CRD),
            "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io created\n"
        );
        assert_eq!(create(WIDGET), "widget.ex.io/w created\n");
        let misspelt = WIDGET.replace("\"w\"", "\"x\"").replace("size", "sise");
        let said = create(&misspelt);
        // Before 1.24 it reads the schema and judges for itself.
        let judges_itself = !server.can("validation by the server", 24);
        let unknown = if judges_itself {
            "unknown field \"sise\" in io.ex.v1.Widget.spec"
        } else {
            "strict decoding error: unknown field \"spec.sise\""
        };
        assert!(said.contains(unknown), "{said}");
        let misspelt = CONFIG_MAP.replace("\"data\"", "\"date\"");
        let said = create(&misspelt);
        let unknown = if judges_itself {
            "unknown field \"date\" in io.k8s.api.core.v1.ConfigMap"
        } else {
            "strict decoding error: unknown field \"date\""
        };
        assert!(said.contains(unknown), "{said}");
        let said = server.kubectl("apply --dry-run=client -f -", CONFIG_MAP);
        assert_eq!(said, "configmap/c created (dry run)\n");
        assert_eq!(create(CONFIG_MAP), "configmap/c created\n");

        let mut explained = vec![
            "GROUP:      ex.io",
            "KIND:       Widget",
            "VERSION:    v1",
            "FIELD: spec <Object>",
            "DESCRIPTION:",
            "    What is wanted.",
            "FIELDS:",
            "  colour\t<string>",
            "  enum: red, blue",
            "    <no description>",
            "  size\t<integer> -required-",
            "    How large.",
        ];
        // kubectl 1.28 does not print enums yet, 1.32 does.
        let tells_enum = |line: &&str| line.starts_with("  enum: ");
        let explains_anew = server.can("`explain` by OpenAPI 3", 27);
        if explains_anew {
            let said = server.kubectl("explain widget.spec", "");
            let said: Vec<&str> = said
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect();
            if server.is_between(27, 31) && !said.iter().any(tells_enum) {
                explained.retain(|line| !tells_enum(line));
            }
            assert_eq!(said, explained);
        }
        // The form that older clients read.
        let explained = "KIND:     Widget\nVERSION:  ex.io/v1\n\nRESOURCE: spec <Object>\n\nDESCRIPTION:\n     \
        What is wanted.\n\nFIELDS:\n   colour\t<string>\n\n   size\t<integer> -required-\n     How large.";
        let older = if explains_anew {
            "explain widget.spec --output plaintext-openapiv2"
        } else {
            "explain widget.spec"
        };
        server.says(older, explained);
        if explains_anew {
            let said = server.kubectl("explain configmap.data", "");
            let said = said.trim().replace("\n\n\n", "\n\n");
            assert_eq!(
                said,
                "KIND:       ConfigMap\nVERSION:    v1\n\nFIELD: data <map[string]string>\n\nDESCRIPTION:\n    Values that are text."
            );
        }

        // A second apply computes its patch with the published schema.
        let apply = |size: &str| {
            let sized = WIDGET.replace("\"size\": 1", &format!("\"size\": {size}"));
            server.kubectl("apply -f -", &sized)
        };
        let first = apply("2");
        assert!(first.starts_with("widget.ex.io/w configured\n"), "{first}");
        assert_eq!(apply("3"), "widget.ex.io/w configured\n");
        server.says("get widget w -o jsonpath={.spec.size}", "3");
        server.says(
            "delete crd widgets.ex.io",
            "customresourcedefinition.apiextensions.k8s.io \"widgets.ex.io\" deleted",
        );
        let said = server.kubectl("explain widget", "");
        assert!(
            said.contains("couldn't find resource")
                || said.contains("doesn't have a resource type"),
            "{said}"
        );
    });
}
