//! Kinds without a controller here, as kubectl creates, shows and changes them (api-machinery.md §12, §15).

use serde_json::json;

use crate::server::{Server, on_each_store};

/// Writes the status that a controller would set on a deployment whose pods all run.
fn roll_out(server: &Server, replicas: u32) {
    let generation = "get deployment web -o jsonpath={.metadata.generation}";
    let generation: u32 = server.kubectl(generation, "").parse().unwrap();
    let status = json!({"observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": replicas, "availableReplicas": replicas});
    server.set_status("/apis/apps/v1/namespaces/default/deployments/web", &status);
}

#[test]
fn kubectl_makes_scales_and_rolls_out_a_deployment_that_somebody_else_runs() {
    on_each_store(|server| {
        server.says(
            "create deployment web --image=nginx:1 --replicas=2 --port=80",
            "deployment.apps/web created",
        );
        server.shows(
            "get deployment web",
            &["NAME READY UP-TO-DATE AVAILABLE AGE", "web 0/2 0 0 AGE"],
        );
        roll_out(server, 2);
        server.says(
            "rollout status deployment web --timeout=10s",
            "deployment \"web\" successfully rolled out",
        );
        server.says(
            "scale deployment web --replicas=3",
            "deployment.apps/web scaled",
        );
        let image = r#"[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:2"}]"#;
        let patched = server.kubectl(
            "patch deployment web --type=json --patch-file=/dev/stdin",
            image,
        );
        assert_eq!(patched, "deployment.apps/web patched\n");
        server.says(
            "get deployment web -o jsonpath={.metadata.generation}-{.spec.replicas}",
            "3-3",
        );
        server.says(
            "expose deployment web --port=8080 --target-port=80",
            "service/web exposed",
        );
        server.says(
        "get service web -o jsonpath={.spec.type}-{.spec.ports[0].targetPort}-{.spec.selector.app}",
        "ClusterIP-80-web",
    );
        roll_out(server, 3);
        server.shows(
            "get deployment web -o wide",
            &[
                "NAME READY UP-TO-DATE AVAILABLE AGE CONTAINERS IMAGES SELECTOR",
                "web 3/3 3 3 AGE nginx nginx:2 app=web",
            ],
        );
        let said = server.kubectl("describe deployment web", "");
        let replicas = "3 desired | 3 updated | 3 total | 3 available | 0 unavailable";
        assert!(said.contains(replicas), "{said}");
        server.says(
            "autoscale deployment web --max=5",
            "horizontalpodautoscaler.autoscaling/web autoscaled",
        );
        server.shows(
            "get hpa",
            &[
                "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE",
                "web Deployment/web cpu: <unknown>/80% 1 5 0 AGE",
            ],
        );
        server.says("delete deployment web", "deployment.apps \"web\" deleted");
    });
}

#[test]
fn kubectl_makes_every_kind_that_it_has_a_command_for() {
    on_each_store(|server| {
        server.says("run p --image=nginx:1", "pod/p created");
        server.shows(
            "get pod p -o wide",
            &[
                "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES",
                "p 0/1 Pending 0 AGE <none> <none> <none> <none>",
            ],
        );
        for (command, said) in [
            (
                "create job j --image=busybox -- true",
                "job.batch/j created",
            ),
            (
                "create service clusterip s --tcp=80:8080",
                "service/s created",
            ),
            (
                "create service nodeport t --tcp=80 --node-port=30111",
                "service/t created",
            ),
            (
                "create ingress i --class=x --rule=a.io/*=s:80",
                "ingress.networking.k8s.io/i created",
            ),
            ("create quota q --hard=pods=3", "resourcequota/q created"),
            (
                "create priorityclass high --value=9",
                "priorityclass.scheduling.k8s.io/high created",
            ),
        ] {
            server.says(command, said);
        }
        // Older ones ask for a version that no server has any more.
        if server.can("the version v1 of cron jobs and of budgets", 21) {
            server.says(
                "create cronjob c --image=busybox --schedule=@hourly -- true",
                "cronjob.batch/c created",
            );
            server.shows(
                "get cronjob c",
                &[
                    "NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE",
                    "c @hourly <none> False 0 <none> AGE",
                ],
            );
            server.says(
                "create poddisruptionbudget b --selector=a=b --min-available=1",
                "poddisruptionbudget.policy/b created",
            );
            server.shows(
                "get pdb b",
                &[
                    "NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE",
                    "b 1 N/A 0 AGE",
                ],
            );
        }
        server.shows(
            "get ingress i",
            &["NAME CLASS HOSTS ADDRESS PORTS AGE", "i x a.io 80 AGE"],
        );
        server.says(
            "get service t -o jsonpath={.spec.ports[0].nodePort}",
            "30111",
        );
        server.shows(
            "get priorityclasses",
            &[
                "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY",
                "high 9 false AGE PreemptLowerPriority",
                "system-cluster-critical 2000000000 false AGE PreemptLowerPriority",
                "system-node-critical 2000001000 false AGE PreemptLowerPriority",
            ],
        );
        server.says("delete pod p --now", "pod \"p\" deleted");
        server.says("delete job j", "job.batch \"j\" deleted");
    });
}

/// api-machinery.md §12/quota: made, shown, exceeded.
#[test]
fn kubectl_makes_a_quota_sees_it_and_is_held_to_it() {
    on_each_store(|server| {
        server.says(
            "create quota q --hard=pods=1,count/deployments.apps=2,requests.cpu=1",
            "resourcequota/q created",
        );
        let said = server.kubectl("run p --image=busybox", "");
        assert_eq!(
            said,
            "Error from server (Forbidden): pods \"p\" is forbidden: failed quota: q: must specify requests.cpu for: p\n"
        );
        let pod = |name: &str| {
            format!(
                r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}"}}, "spec": {{"containers": [{{"name": "c", "image": "i", "resources": {{"requests": {{"cpu": "1"}}}}}}]}}}}"#
            )
        };
        assert_eq!(server.kubectl("create -f -", &pod("p")), "pod/p created\n");
        server.shows(
            "describe quota q",
            &[
                "Name: q",
                "Namespace: default",
                "Resource Used Hard",
                "-------- ---- ----",
                "count/deployments.apps 0 2",
                "pods 1 1",
                "requests.cpu 1 1",
            ],
        );
        let said = server.kubectl("create -f -", &pod("r"));
        assert!(
        said.contains("pods \"r\" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=1, used: pods=1,requests.cpu=1, limited: pods=1,requests.cpu=1"),
        "{said}"
    );
    });
}

/// api-machinery.md §12/start: default objects that pods rely on, and validation errors.
#[test]
fn kubectl_finds_the_server_as_a_service_and_is_told_what_is_wrong() {
    on_each_store(|server| {
        server.says(
            "get service kubernetes -o jsonpath={.spec.clusterIP}:{.spec.ports[0].port}",
            "10.0.0.1:443",
        );
        server.says(
            "get endpointslices -o jsonpath={.items[*].metadata.labels}",
            r#"{"kubernetes.io/service-name":"kubernetes"}"#,
        );
        let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}}"#;
        let said = server.kubectl("create -f -", pod);
        assert_eq!(
            said,
            "The Pod \"p\" is invalid: spec.containers[0].image: Required value\n"
        );
        let said = server.kubectl(
            "create service clusterip x --clusterip=10.9.9.9 --tcp=80",
            "",
        );
        assert!(
            said.contains("is not in the valid range. The range of valid IPs is"),
            "{said}"
        );
        let said = server.kubectl("logs p", "");
        assert!(said.contains("not found"), "{said}");
    });
}
