//! `kubectl auth` and `kubectl delete` against the real binary.

use crate::server::on_each_store;

/// The words of each line.
fn table(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines();
    lines
        .map(|line| line.split_whitespace().collect())
        .collect()
}

#[test]
fn kubectl_tells_people_what_they_may_do() {
    on_each_store(|server| {
        server.says("auth can-i create configmaps", "yes");
        server.says("auth can-i list secrets --as bob", "no");
        server.says(
            "auth can-i get /version --as bob --as-group system:authenticated",
            "yes",
        );
        server.says(
            "create rolebinding bob --clusterrole edit --user bob -n default --validate=false",
            "rolebinding.rbac.authorization.k8s.io/bob created",
        );
        server.says("auth can-i list secrets --as bob", "yes");
        server.says("auth can-i list secrets --as bob -n kube-system", "no");

        if server.can("`auth whoami`", 27) {
            let who = server.kubectl("auth whoami", "");
            let rows = table(&who);
            assert!(
                rows.contains(&vec!["Username", "kubernetes-admin"]),
                "{who}"
            );
            let who = server.kubectl("auth whoami --as bob -o jsonpath={.status.userInfo}", "");
            assert_eq!(
                who,
                r#"{"groups":["system:authenticated"],"username":"bob"}"#
            );
        }

        let list = server.kubectl("auth can-i --list", "");
        assert!(
            table(&list).contains(&vec!["*.*", "[]", "[]", "[*]"]),
            "{list}"
        );
        let list = server.kubectl("auth can-i --list --as bob", "");
        let reviews = [
            "selfsubjectreviews.authentication.k8s.io",
            "[]",
            "[]",
            "[create]",
        ];
        assert!(table(&list).contains(&reviews.to_vec()), "{list}");
    });
}

/// kubectl waits until what it deletes is gone.
#[test]
fn kubectl_deletes_a_namespace_with_its_content_and_an_owner_with_its_dependents() {
    on_each_store(|server| {
        let create = "create --validate=false -f -";
        let map = |name: &str, more: &str| {
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"n"{more}}}}}"#
            )
        };
        let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}"#;
        assert_eq!(server.kubectl(create, namespace), "namespace/n created\n");
        while !server.outcome("get -n n sa/default", "").0 {}
        assert_eq!(
            server.kubectl(create, &map("owner", "")),
            "configmap/owner created\n"
        );
        let uid = server.kubectl("get configmap owner -n n -o jsonpath={.metadata.uid}", "");
        let owners = format!(
            r#","ownerReferences":[{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{uid}","blockOwnerDeletion":true}}]"#
        );
        assert_eq!(
            server.kubectl(create, &map("child", &owners)),
            "configmap/child created\n"
        );
        server.says(
            "delete configmap owner -n n --cascade=foreground",
            "configmap \"owner\" deleted",
        );
        server.says(
            "get configmap child -n n",
            "Error from server (NotFound): configmaps \"child\" not found",
        );
        server.says("delete namespace n", "namespace \"n\" deleted");
        server.says(
            "get namespace n",
            "Error from server (NotFound): namespaces \"n\" not found",
        );
        server.says("get configmaps -n n -o name", "");
    });
}
