# What leaves takes nothing with it but itself: test/terraform reads the plan.
mock_provider "helm" {}
mock_provider "kubernetes" {}

variables {
  vnfbench    = { chart = "../../../charts/vnfbench", registry = "registry.example.com/lab", tag = "1.2.3" }
  kubevirt    = { operator_manifest = "tests/fixtures/kubevirt-operator.yaml" }
  multus      = { manifest = "tests/fixtures/multus-daemonset-thick.yml" }
  cni_plugins = { image = "registry.example.com/lab/cni-plugins:v1.9.1" }
  monitoring  = { chart = "kube-prometheus-stack", repository = "https://charts.example.com" }
  sriov = {
    chart = "oci://registry.example.com/charts/sriov-network-operator-chart"
    policies = {
      dut-west = { resource_name = "dut_west", node_selector = { "vnfbench.io/role" = "device" }, pf_names = ["ens2f0"], virtual_functions = 4 }
      gen-west = { resource_name = "gen_west", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f0"], virtual_functions = 1 }
    }
  }
}

run "everything" {
  command = apply
}

run "a_policy_and_the_plugins_less" {
  command = plan
  variables {
    cni_plugins = null
    sriov = {
      chart    = "oci://registry.example.com/charts/sriov-network-operator-chart"
      policies = { gen-west = { resource_name = "gen_west", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f0"], virtual_functions = 1 } }
    }
  }
}
