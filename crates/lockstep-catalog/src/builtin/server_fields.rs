//! Fields that the server sets on create. The creator does not own them, unless the request set them.

/// The server-set fields of a resource.
pub(super) fn of(group: &str, plural: &str) -> &'static [&'static [&'static str]] {
    match (group, plural) {
        ("", "namespaces") => &[&["spec", "finalizers"]],
        ("", "nodes") => &[&["spec", "taints"]],
        ("", "pods") => &[
            &["spec", "preemptionPolicy"],
            &["spec", "priority"],
            &["spec", "tolerations"],
        ],
        ("", "persistentvolumeclaims") => &[&["spec", "dataSource"], &["spec", "dataSourceRef"]],
        ("", "services") => &[
            &["spec", "clusterIP"],
            &["spec", "clusterIPs"],
            &["spec", "healthCheckNodePort"],
            &["spec", "ipFamilies"],
            &["spec", "ipFamilyPolicy"],
        ],
        ("batch", "jobs") => &[
            &["metadata", "labels"],
            &["metadata", "labels", "batch.kubernetes.io/controller-uid"],
            &["metadata", "labels", "batch.kubernetes.io/job-name"],
            &["metadata", "labels", "controller-uid"],
            &["metadata", "labels", "job-name"],
            &["spec", "selector"],
            &["spec", "template", "metadata", "labels"],
        ],
        _ => &[],
    }
}
