# Own objects are given to the cluster as releases of charts/manifest, because
# kubernetes_manifest asks the API server for a kind's schema at plan: there is
# no server yet in the run that makes the cluster, and no KubeVirt or
# SriovNetworkNodePolicy in the run that brings their definitions. helm_release
# of a local chart plans without either.
#
# Each release is atomic: what fails is removed, or is again as it was. The provider
# does not keep a release in the state whose installation has failed, so that the next
# apply would find the release's name in use.
locals {
  own_chart = "${path.module}/charts/manifest"

  # Operators pull images and start one after another; the slowest link decides.
  timeout_seconds = 900

  # Levels of Pod Security: Talos enforces `baseline` where a namespace says nothing.
  namespaces = merge(
    # A Job there removes the bridges of a deleted Testbed from the nodes' network.
    { vnfbench-system = "privileged" },
    # The operator's daemons change NICs and load modules.
    var.sriov == null ? {} : { sriov-network-operator = "privileged" },
    # The node exporter reads the node's own /proc and /sys.
    var.monitoring == null ? {} : { monitoring = "privileged" },
  )

  # Upstream's manifest names the moving tag of the day and, for most hosts,
  # the right folder of network namespaces; Talos has it under /var.
  multus_manifest = var.multus == null ? "" : replace(
    replace(file(var.multus.manifest), "multus-cni:snapshot-thick", "multus-cni:${local.versions.multus}-thick"),
    "/(\\spath: *\"?)/run/netns/", "$1/var/run/netns",
  )

  kubevirt = var.kubevirt == null ? null : {
    apiVersion = "kubevirt.io/v1"
    kind       = "KubeVirt"
    metadata   = { name = "kubevirt", namespace = "kubevirt" }
    spec = {
      imagePullPolicy = "IfNotPresent"
      configuration = merge(length(var.kubevirt.host_devices) == 0 ? {} : {
        permittedHostDevices = { pciHostDevices = [
          for name, id in var.kubevirt.host_devices : { resourceName = name, pciVendorSelector = upper(id) }
        ] }
        }, {
        developerConfiguration = {
          useEmulation = var.kubevirt.use_emulation
          # CPUManager: cores of a guest's own. HostDevices: devices of the node.
          # Bridge binding, hugepages, NUMA and SR-IOV have no gate in this version.
          featureGates = ["CPUManager", "HostDevices"]
        }
      })
    }
  }

  cni_plugins_resources = { requests = { cpu = "1m", memory = "8Mi" }, limits = { memory = "64Mi" } }
  cni_plugins_security = {
    allowPrivilegeEscalation = false
    capabilities             = { drop = ["ALL"] }
    seccompProfile           = { type = "RuntimeDefault" }
  }

  cni_plugins = var.cni_plugins == null ? null : {
    apiVersion = "apps/v1"
    kind       = "DaemonSet"
    metadata   = { name = "vnfbench-cni-plugins", namespace = "kube-system", labels = { "app.kubernetes.io/name" = "vnfbench-cni-plugins" } }
    spec = {
      selector = { matchLabels = { "app.kubernetes.io/name" = "vnfbench-cni-plugins" } }
      template = {
        metadata = { labels = { "app.kubernetes.io/name" = "vnfbench-cni-plugins" } }
        spec = {
          automountServiceAccountToken = false
          nodeSelector                 = { "kubernetes.io/os" = "linux" }
          tolerations                  = [{ operator = "Exists" }]
          # Each plugin comes under another name first and is then renamed: one
          # that is running cannot be written to.
          initContainers = [{
            name  = "install"
            image = var.cni_plugins.image
            command = ["/bin/sh", "-ec", <<-EOT
              for plugin in ${join(" ", var.cni_plugins.plugins)}; do
                cp "${var.cni_plugins.folder}/$plugin" "/host/.vnfbench-$plugin"
                mv -f "/host/.vnfbench-$plugin" "/host/$plugin"
              done
            EOT
            ]
            resources    = local.cni_plugins_resources
            volumeMounts = [{ name = "plugins", mountPath = "/host" }]
            # It writes root's files in one folder of the node, and can do no more.
            securityContext = merge(local.cni_plugins_security, { runAsUser = 0 })
          }]
          # Nothing is left to do, but a DaemonSet's pod must not end.
          containers = [{
            name            = "installed"
            image           = var.cni_plugins.image
            command         = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"]
            resources       = local.cni_plugins_resources
            securityContext = merge(local.cni_plugins_security, { runAsUser = 65532, runAsNonRoot = true })
          }]
          volumes = [{ name = "plugins", hostPath = { path = "/opt/cni/bin", type = "DirectoryOrCreate" } }]
        }
      }
    }
  }

  sriov_policies = var.sriov == null ? {} : { for name, policy in var.sriov.policies : name => {
    apiVersion = "sriovnetwork.openshift.io/v1"
    kind       = "SriovNetworkNodePolicy"
    metadata   = { name = name, namespace = "sriov-network-operator" }
    spec = {
      resourceName = policy.resource_name
      nodeSelector = policy.node_selector
      nicSelector = merge(
        length(policy.pf_names) > 0 ? { pfNames = policy.pf_names } : {},
        length(policy.root_devices) > 0 ? { rootDevices = policy.root_devices } : {},
      )
      numVfs     = policy.virtual_functions
      mtu        = policy.mtu_bytes
      deviceType = policy.device_type
    }
  } }
}

resource "kubernetes_namespace_v1" "this" {
  for_each = local.namespaces

  metadata {
    name   = each.key
    labels = { "pod-security.kubernetes.io/enforce" = each.value }
  }
}

resource "helm_release" "multus" {
  for_each = var.multus == null ? {} : { this = var.multus }

  name      = "multus"
  namespace = "kube-system"
  chart     = local.own_chart
  values    = [yamlencode({ manifest = local.multus_manifest })]
  timeout   = local.timeout_seconds
  atomic    = true
}

resource "helm_release" "cni_plugins" {
  for_each = var.cni_plugins == null ? {} : { this = var.cni_plugins }

  name      = "vnfbench-cni-plugins"
  namespace = "kube-system"
  chart     = local.own_chart
  values    = [yamlencode({ manifest = yamlencode(local.cni_plugins) })]
  timeout   = local.timeout_seconds
  atomic    = true
}

resource "helm_release" "kubevirt_operator" {
  for_each = var.kubevirt == null ? {} : { this = var.kubevirt }

  # The manifest brings its own namespace, at the level `privileged`.
  name      = "kubevirt-operator"
  namespace = "kube-system"
  chart     = local.own_chart
  values    = [yamlencode({ manifest = file(each.value.operator_manifest) })]
  timeout   = local.timeout_seconds
  atomic    = true
}

# Removed before its operator, which takes KubeVirt away in an orderly manner.
resource "helm_release" "kubevirt" {
  for_each = var.kubevirt == null ? {} : { this = var.kubevirt }

  name      = "kubevirt"
  namespace = "kube-system"
  chart     = local.own_chart
  values    = [yamlencode({ manifest = yamlencode(local.kubevirt) })]
  timeout   = local.timeout_seconds
  atomic    = true

  depends_on = [helm_release.kubevirt_operator]
}

resource "helm_release" "sriov_operator" {
  for_each = var.sriov == null ? {} : { this = var.sriov }

  name       = "sriov-network-operator"
  namespace  = kubernetes_namespace_v1.this["sriov-network-operator"].metadata[0].name
  chart      = each.value.chart
  repository = each.value.repository
  version    = local.versions.sriov
  timeout    = local.timeout_seconds
  atomic     = true
  values = [yamlencode({
    operator = { resourcePrefix = each.value.resource_prefix }
    # Without this object the operator configures nothing.
    sriovOperatorConfig = { deploy = true, disableDrain = each.value.disable_drain }
  })]
}

# One release for each policy, so that one more NIC touches no other.
resource "helm_release" "sriov_policy" {
  for_each = local.sriov_policies

  name      = "sriov-policy-${each.key}"
  namespace = kubernetes_namespace_v1.this["sriov-network-operator"].metadata[0].name
  chart     = local.own_chart
  values    = [yamlencode({ manifest = yamlencode(each.value) })]
  timeout   = local.timeout_seconds
  atomic    = true

  depends_on = [helm_release.sriov_operator]
}

resource "helm_release" "monitoring" {
  for_each = var.monitoring == null ? {} : { this = var.monitoring }

  name       = "monitoring"
  namespace  = kubernetes_namespace_v1.this["monitoring"].metadata[0].name
  chart      = each.value.chart
  repository = each.value.repository
  version    = local.versions.kube_prometheus_stack
  timeout    = local.timeout_seconds
  atomic     = true
  values = [yamlencode({
    # Monitors, rules and dashboards of other charts are found too.
    prometheus = { prometheusSpec = {
      serviceMonitorSelectorNilUsesHelmValues = false
      ruleSelectorNilUsesHelmValues           = false
    } }
    grafana = { sidecar = { dashboards = { searchNamespace = "ALL" } } }
  })]
}

resource "helm_release" "vnfbench" {
  name      = "vnfbench"
  namespace = kubernetes_namespace_v1.this["vnfbench-system"].metadata[0].name
  chart     = var.vnfbench.chart
  version   = var.vnfbench.version
  timeout   = local.timeout_seconds
  atomic    = true
  values = concat([yamlencode({
    image = {
      registry    = var.vnfbench.registry
      repository  = var.vnfbench.repository
      tag         = var.vnfbench.tag
      digests     = var.vnfbench.digests
      pullSecrets = var.vnfbench.pull_secrets
    }
    metrics = {
      serviceMonitor = { enabled = var.monitoring != null }
      prometheusRule = { enabled = var.monitoring != null }
      dashboard      = { enabled = var.monitoring != null }
    }
  })], var.vnfbench.values)

  # The definitions of ServiceMonitor and PrometheusRule come with the stack.
  depends_on = [helm_release.monitoring]
}

locals {
  releases = concat(
    [helm_release.vnfbench],
    values(helm_release.multus),
    values(helm_release.cni_plugins),
    values(helm_release.kubevirt_operator),
    values(helm_release.kubevirt),
    values(helm_release.sriov_operator),
    values(helm_release.sriov_policy),
    values(helm_release.monitoring),
  )
}
