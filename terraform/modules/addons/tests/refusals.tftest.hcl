# What is refused at plan, each by its own rule.
mock_provider "helm" {}
mock_provider "kubernetes" {}

variables {
  vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com/lab", tag = "1.2.3" }
}

run "chart_that_is_nowhere" {
  command = plan
  variables {
    vnfbench = { chart = "./none", registry = "registry.example.com", tag = "1" }
  }
  expect_failures = [var.vnfbench]
}

run "chart_of_a_registry" {
  command = plan
  variables {
    vnfbench = { chart = "oci://registry.example.com/charts/vnfbench", version = "1.2.3", registry = "registry.example.com", tag = "1" }
  }
}

run "device_without_a_prefix" {
  command = plan
  variables {
    kubevirt = { operator_manifest = "tests/fixtures/kubevirt-operator.yaml", host_devices = { x710 = "8086:1572" } }
  }
  expect_failures = [var.kubevirt]
}

run "device_that_is_no_id" {
  command = plan
  variables {
    kubevirt = { operator_manifest = "tests/fixtures/kubevirt-operator.yaml", host_devices = { "intel.com/x710" = "1572" } }
  }
  expect_failures = [var.kubevirt]
}

run "accepted" {
  command = plan
  variables {
    cni_plugins = { image = "registry.example.com:5000/lab/cni-plugins:v1.9.1" }
    sriov       = { chart = "./chart", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1 } } }
  }
}

run "registry_with_scheme" {
  command = plan
  variables {
    vnfbench = { chart = "../../../charts/vnfbench", registry = "https://registry.example.com", tag = "1" }
  }
  expect_failures = [var.vnfbench]
}

run "tag_with_a_space" {
  command = plan
  variables {
    vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com", tag = "a b" }
  }
  expect_failures = [var.vnfbench]
}

run "digest_of_an_unknown_image" {
  command = plan
  variables {
    vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com", tag = "1", digests = { router = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" } }
  }
  expect_failures = [var.vnfbench]
}

run "short_digest" {
  command = plan
  variables {
    vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com", tag = "1", digests = { manager = "sha256:12" } }
  }
  expect_failures = [var.vnfbench]
}

run "neither_tag_nor_all_digests" {
  command = plan
  variables {
    vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com", digests = { manager = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" } }
  }
  expect_failures = [var.vnfbench]
}

run "values_that_are_no_values" {
  command = plan
  variables {
    vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com", tag = "1", values = ["just words"] }
  }
  expect_failures = [var.vnfbench]
}

run "no_kubevirt_manifest" {
  command = plan
  variables {
    kubevirt = { operator_manifest = "tests/fixtures/none.yaml" }
  }
  expect_failures = [var.kubevirt]
}

run "another_kubevirt" {
  command = plan
  variables {
    kubevirt = { operator_manifest = "tests/fixtures/kubevirt-old.yaml" }
  }
  expect_failures = [var.kubevirt]
}

run "no_multus_manifest" {
  command = plan
  variables {
    multus = { manifest = "tests/fixtures/none.yaml" }
  }
  expect_failures = [var.multus]
}

run "not_the_thick_plugin" {
  command = plan
  variables {
    multus = { manifest = "tests/fixtures/kubevirt-operator.yaml" }
  }
  expect_failures = [var.multus]
}

run "another_multus" {
  command = plan
  variables {
    multus = { manifest = "tests/fixtures/multus-old.yml" }
  }
  expect_failures = [var.multus]
}

run "plugins_image_without_tag" {
  command = plan
  variables {
    cni_plugins = { image = "registry.example.com/cni" }
  }
  expect_failures = [var.cni_plugins]
}

run "plugins_image_latest" {
  command = plan
  variables {
    cni_plugins = { image = "registry.example.com/cni:latest" }
  }
  expect_failures = [var.cni_plugins]
}

run "plugins_image_without_host" {
  command = plan
  variables {
    cni_plugins = { image = "cni:v1" }
  }
  expect_failures = [var.cni_plugins]
}

run "plugins_image_port_and_no_tag" {
  command = plan
  variables {
    cni_plugins = { image = "registry.example.com:5000/cni" }
  }
  expect_failures = [var.cni_plugins]
}

run "plugins_folder" {
  command = plan
  variables {
    cni_plugins = { image = "registry.example.com/cni:v1", folder = "$(reboot)" }
  }
  expect_failures = [var.cni_plugins]
}

run "no_plugins" {
  command = plan
  variables {
    cni_plugins = { image = "registry.example.com/cni:v1", plugins = [] }
  }
  expect_failures = [var.cni_plugins]
}

run "plugin_with_a_path" {
  command = plan
  variables {
    cni_plugins = { image = "registry.example.com/cni:v1", plugins = ["../sh"] }
  }
  expect_failures = [var.cni_plugins]
}

run "chart_name_without_repository" {
  command = plan
  variables {
    sriov = { chart = "sriov-network-operator", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1 } } }
  }
  expect_failures = [var.sriov]
}

run "oci_chart_with_repository" {
  command = plan
  variables {
    sriov = { chart = "oci://registry.example.com/chart", repository = "https://charts.example.com", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1 } } }
  }
  expect_failures = [var.sriov]
}

run "policy_name" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { "A_b" = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1 } } }
  }
  expect_failures = [var.sriov]
}

run "pool_with_a_hyphen" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { a = { resource_name = "gen-west", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1 } } }
  }
  expect_failures = [var.sriov]
}

run "policy_for_every_node" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { a = { resource_name = "a", node_selector = {}, pf_names = ["ens1f0"], virtual_functions = 1 } } }
  }
  expect_failures = [var.sriov]
}

run "policy_for_every_nic" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = [], virtual_functions = 1 } } }
  }
  expect_failures = [var.sriov]
}

run "wrong_pci_address" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1, root_devices = ["03:00.0"] } } }
  }
  expect_failures = [var.sriov]
}

run "no_virtual_functions" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 0 } } }
  }
  expect_failures = [var.sriov]
}

run "half_a_virtual_function" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1.5 } } }
  }
  expect_failures = [var.sriov]
}

run "wrong_mtu" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1, mtu_bytes = 100 } } }
  }
  expect_failures = [var.sriov]
}

run "wrong_device_type" {
  command = plan
  variables {
    sriov = { chart = "./chart", policies = { a = { resource_name = "a", node_selector = { a = "b" }, pf_names = ["ens1f0"], virtual_functions = 1, device_type = "uio" } } }
  }
  expect_failures = [var.sriov]
}

run "monitoring_without_repository" {
  command = plan
  variables {
    monitoring = { chart = "kube-prometheus-stack" }
  }
  expect_failures = [var.monitoring]
}
