# Applied against mocked providers, which keep the real ones' schemas.
mock_provider "helm" {}
mock_provider "kubernetes" {}

variables {
  vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com/lab", tag = "1.2.3" }
}

run "operator_alone" {
  command = apply

  assert {
    condition     = output.namespaces == { vnfbench-system = "privileged" }
    error_message = "the operator's namespace enforces the level privileged, and there is no other"
  }
  assert {
    condition     = output.releases == { vnfbench = "vnfbench-system" }
    error_message = "nothing is installed that was not asked for"
  }
  assert {
    condition     = yamldecode(helm_release.vnfbench.values[0]).image == { registry = "registry.example.com/lab", repository = "vnfbench", tag = "1.2.3", digests = {}, pullSecrets = [] }
    error_message = "images come from the registry that was named"
  }
  assert {
    condition     = yamldecode(helm_release.vnfbench.values[0]).metrics.serviceMonitor.enabled == false
    error_message = "there is no ServiceMonitor without its definition"
  }
}

run "everything" {
  command = apply
  variables {
    vnfbench = {
      chart        = "../../../charts/vnfbench"
      registry     = "registry.example.com/lab"
      digests      = { for name in ["manager", "measurer", "vnf", "vnf-guest", "endpoint", "neighbor", "neighbor-guest", "results"] : name => "sha256:${join("", [for i in range(64) : "a"])}" }
      pull_secrets = ["pull"]
      values       = ["log: {level: 1}"]
    }
    kubevirt    = { operator_manifest = "tests/fixtures/kubevirt-operator.yaml", host_devices = { "intel.com/x710" = "8086:1572" } }
    multus      = { manifest = "tests/fixtures/multus-daemonset-thick.yml" }
    cni_plugins = { image = "registry.example.com/lab/cni-plugins:v1.9.1" }
    monitoring  = { chart = "kube-prometheus-stack", repository = "https://charts.example.com" }
    sriov = {
      chart = "oci://registry.example.com/charts/sriov-network-operator-chart"
      policies = {
        gen-west = { resource_name = "gen_west", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f0"], virtual_functions = 1 }
        dut-west = { resource_name = "dut_west", node_selector = { "vnfbench.io/role" = "device" }, root_devices = ["0000:03:00.0"], virtual_functions = 4, mtu_bytes = 9000, device_type = "vfio-pci" }
      }
    }
  }

  assert {
    condition     = output.namespaces == { vnfbench-system = "privileged", sriov-network-operator = "privileged", monitoring = "privileged" }
    error_message = "each namespace enforces the level that its pods need and no lower one"
  }
  assert {
    condition = output.releases == {
      vnfbench               = "vnfbench-system"
      multus                 = "kube-system"
      vnfbench-cni-plugins   = "kube-system"
      kubevirt-operator      = "kube-system"
      kubevirt               = "kube-system"
      sriov-network-operator = "sriov-network-operator"
      sriov-policy-gen-west  = "sriov-network-operator"
      sriov-policy-dut-west  = "sriov-network-operator"
      monitoring             = "monitoring"
    }
    error_message = "all that was asked for is installed, and each policy is a separate release"
  }
  assert {
    condition     = yamldecode(output.manifests["kubevirt"]).spec.configuration.developerConfiguration == { useEmulation = false, featureGates = ["CPUManager", "HostDevices"] }
    error_message = "KubeVirt has the gates that functions ask for, and does not emulate"
  }
  assert {
    condition     = yamldecode(yamldecode(helm_release.kubevirt["this"].values[0]).manifest).kind == "KubeVirt"
    error_message = "KubeVirt's object travels in a release"
  }
  assert {
    condition     = yamldecode(yamldecode(helm_release.kubevirt_operator["this"].values[0]).manifest).metadata.name == "virt-operator"
    error_message = "the operator's manifest travels as it is"
  }
  assert {
    condition = (
      yamldecode(output.manifests["multus"]).spec.template.spec.volumes[0].hostPath.path == "/var/run/netns/" &&
      yamldecode(output.manifests["multus"]).spec.template.spec.volumes[1].hostPath.path == "/run" &&
      yamldecode(output.manifests["multus"]).spec.template.spec.containers[0].volumeMounts[0].mountPath == "/run/netns" &&
      yamldecode(output.manifests["multus"]).spec.template.spec.containers[0].image == "registry.example.com/multus-cni:v4.2.4-thick"
    )
    error_message = "Multus finds Talos' network namespaces, its image is pinned, and nothing else is changed"
  }
  assert {
    condition     = yamldecode(output.manifests["sriov-policy-dut-west"]).spec == { resourceName = "dut_west", nodeSelector = { "vnfbench.io/role" = "device" }, nicSelector = { rootDevices = ["0000:03:00.0"] }, numVfs = 4, mtu = 9000, deviceType = "vfio-pci" }
    error_message = "a policy says what the variable says"
  }
  assert {
    condition     = yamldecode(output.manifests["sriov-policy-gen-west"]).spec.nicSelector == { pfNames = ["ens1f0"] } && yamldecode(output.manifests["sriov-policy-gen-west"]).spec.mtu == 1500
    error_message = "defaults of a policy"
  }
  assert {
    condition     = helm_release.sriov_operator["this"].version == output.versions.sriov && helm_release.monitoring["this"].version == output.versions.kube_prometheus_stack
    error_message = "charts are pinned"
  }
  assert {
    condition     = yamldecode(helm_release.vnfbench.values[0]).metrics == { serviceMonitor = { enabled = true }, prometheusRule = { enabled = true }, dashboard = { enabled = true } }
    error_message = "with the stack there are monitor, alerts and dashboard"
  }
  assert {
    condition     = helm_release.vnfbench.values[1] == "log: {level: 1}" && yamldecode(helm_release.vnfbench.values[0]).image.pullSecrets == ["pull"]
    error_message = "further values come last, so that they win"
  }
  assert {
    condition = alltrue([for release in concat([helm_release.vnfbench],
      values(helm_release.multus), values(helm_release.cni_plugins), values(helm_release.kubevirt_operator), values(helm_release.kubevirt),
      values(helm_release.sriov_operator), values(helm_release.sriov_policy), values(helm_release.monitoring),
    ) : release.atomic])
    error_message = "a release that fails does not stay, where the next apply would find its name in use"
  }
}
