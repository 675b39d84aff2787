# The example's plan, against the providers' schemas.
mock_provider "matchbox" {}

mock_provider "helm" {}
mock_provider "kubernetes" {}

mock_provider "talos" {
  mock_resource "talos_cluster_kubeconfig" {
    defaults = {
      kubeconfig_raw = "secret-of-kubeconfig"
      kubernetes_client_configuration = {
        host               = "https://192.0.2.11:6443"
        ca_certificate     = "c2VjcmV0"
        client_certificate = "c2VjcmV0"
        client_key         = "c2VjcmV0"
      }
    }
  }
  mock_data "talos_machine_configuration" {
    defaults = { machine_configuration = "secret-of-machine" }
  }
  mock_data "talos_client_configuration" {
    defaults = { talos_config = "secret-of-talosconfig" }
  }
  mock_data "talos_image_factory_urls" {
    # Every field: OpenTofu's mocks want a nested object whole.
    defaults = {
      urls = {
        disk_image            = ""
        disk_image_secureboot = ""
        initramfs             = "https://factory.example/initramfs"
        installer             = "factory.example/installer:v1"
        installer_secureboot  = ""
        iso                   = ""
        iso_secureboot        = ""
        kernel                = "https://factory.example/kernel"
        kernel_command_line   = ""
        pxe                   = ""
        uki                   = ""
      }
    }
  }
}

variables {
  cluster_name         = "nfv-lab"
  matchbox_endpoint    = "matchbox.example:8081"
  matchbox_credentials = { client_cert = "/dev/null", client_key = "/dev/null", ca = "/dev/null" }
  endpoint             = "192.0.2.11"

  nodes = {
    cp-1 = {
      mac          = "0c:c4:7a:00:00:11"
      role         = "controlplane"
      address      = "192.0.2.11/24"
      install_disk = "/dev/sda"
    }
    gen-1 = {
      mac          = "0c:c4:7a:00:00:21"
      role         = "worker"
      address      = "192.0.2.21/24"
      install_disk = "/dev/sda"
      labels       = { "vnfbench.io/role" = "generator" }
      measurement  = { reserved_cpus = "0-1", isolated_cpus = "2-15" }
    }
    dut-1 = {
      mac          = "0c:c4:7a:00:00:31"
      role         = "worker"
      address      = "192.0.2.31/24"
      install_disk = "/dev/nvme0n1"
      labels       = { "vnfbench.io/role" = "device" }
      measurement  = { reserved_cpus = "0-1", isolated_cpus = "2-15", hugepages_1gi = 32 }
    }
  }

  testbeds = {
    nfv-lab = {
      sriov = {
        generator_west = "openshift.io/gen_west"
        generator_east = "openshift.io/gen_east"
        device_west    = "openshift.io/dut_west"
        device_east    = "openshift.io/dut_east"
      }
    }
  }
}

run "machines_alone" {
  command = apply

  assert {
    condition     = output.addons == null && length(module.addons) == 0
    error_message = "nothing is installed that was not asked for"
  }
}

run "example" {
  command = apply
  variables {
    addons = {
      vnfbench    = { registry = "registry.example.com/lab", tag = "1.2.3" }
      kubevirt    = { operator_manifest = "../../modules/addons/tests/fixtures/kubevirt-operator.yaml" }
      multus      = { manifest = "../../modules/addons/tests/fixtures/multus-daemonset-thick.yml" }
      cni_plugins = { image = "registry.example.com/lab/cni-plugins:v1.9.1" }
      sriov = {
        chart    = "oci://registry.example.com/charts/sriov-network-operator-chart"
        policies = { gen-west = { resource_name = "gen_west", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f0"], virtual_functions = 1 } }
      }
      monitoring = { chart = "kube-prometheus-stack", repository = "https://charts.example.com" }
    }
  }

  assert {
    condition     = join(",", keys(output.addons)) == "kubevirt,kubevirt-operator,monitoring,multus,sriov-network-operator,sriov-policy-gen-west,vnfbench,vnfbench-cni-plugins"
    error_message = "one apply goes from machines to the operator"
  }
  assert {
    condition     = module.addons["this"].namespaces["vnfbench-system"] == "privileged" && module.addons["this"].namespaces["sriov-network-operator"] == "privileged"
    error_message = "namespaces enforce the level that their pods need"
  }
  assert {
    condition     = issensitive(output.kubeconfig) && issensitive(output.talosconfig)
    error_message = "credentials are sensitive"
  }

  assert {
    condition     = join(",", keys(output.nodes)) == "cp-1,dut-1,gen-1"
    error_message = "every machine is in the output"
  }
  assert {
    condition     = alltrue([for node in output.nodes : join(",", keys(node)) == "address,labels,role"])
    error_message = "patches, which may hold credentials, are in no plain output"
  }
  assert {
    condition     = yamldecode(output.testbeds).spec.systemUnderTest.sriov.westResourceName == "openshift.io/dut_west"
    error_message = "the Testbed names the device's pools"
  }
}

run "matchbox_with_scheme_and_without_files" {
  command = plan
  variables {
    matchbox_endpoint    = "https://matchbox.example:8081"
    matchbox_credentials = { client_cert = "/none/client.crt", client_key = "/dev/null", ca = "/dev/null" }
  }
  expect_failures = [var.matchbox_endpoint, var.matchbox_credentials]
}

run "matchbox_client_key_without_file" {
  command = plan
  variables {
    matchbox_credentials = { client_cert = "/dev/null", client_key = "/none/client.key", ca = "/dev/null" }
  }
  expect_failures = [var.matchbox_credentials]
}

run "matchbox_ca_without_file" {
  command = plan
  variables {
    matchbox_credentials = { client_cert = "/dev/null", client_key = "/dev/null", ca = "/none/client.ca" }
  }
  expect_failures = [var.matchbox_credentials]
}

run "matchbox_without_port" {
  command = plan
  variables {
    matchbox_endpoint = "matchbox.example"
  }
  expect_failures = [var.matchbox_endpoint]
}

run "matchbox_by_address" {
  command = plan
  variables {
    matchbox_endpoint = "[2001:db8::1]:8081"
  }
}

run "several_testbeds" {
  command = plan
  variables {
    testbeds = {
      lab = { is_default = true, mtu_bytes = 9000, vlan = { west = 101 }, device = { attachments = ["Veth", "Virtio"], guest_image = "registry.example.com/lab/vnf-guest:1" } }
      wan = { networks = { west = { generator = "lab-west" }, east = { generator = "lab-east" } }, namespaces = { match_labels = { lab = "wan" } } }
    }
  }

  assert {
    condition     = join(",", [for text in split("---\n", output.testbeds) : yamldecode(text).metadata.name]) == "lab,wan"
    error_message = "each Testbed is a document"
  }
  assert {
    condition     = yamldecode(split("---\n", output.testbeds)[0]).spec.ports.mtuBytes == 9000 && contains(yamldecode(split("---\n", output.testbeds)[0]).spec.systemUnderTest.attachments, "Virtio")
    error_message = "its ports and virtual machines are as asked"
  }
  assert {
    condition     = yamldecode(split("---\n", output.testbeds)[1]).spec.ports.west.attachment == "NetworkAttachmentDefinition"
    error_message = "ports join networks that exist"
  }
}

run "no_testbed" {
  command = plan
  variables { testbeds = {} }

  assert {
    condition     = output.testbeds == ""
    error_message = "no Testbed, no document"
  }
}

run "machines_with_mirrors_and_patches" {
  command = plan
  variables {
    registry_mirrors = { "registry.k8s.io" = ["https://mirror.example.com"] }
    config_patches   = ["machine: { sysctls: { kernel.panic: '5' } }"]
    extensions       = ["siderolabs/intel-ucode"]
    pod_subnets      = ["10.10.0.0/16"]
    service_subnets  = ["10.11.0.0/16"]
    graceful_removal = true
  }

  assert {
    condition     = alltrue([for text in module.images.schematics : strcontains(text, "siderolabs/intel-ucode")])
    error_message = "every image has the extension"
  }
  assert {
    condition     = alltrue([for documents in values(module.cluster.patches) : strcontains(documents[0], "10.10.0.0/16") && strcontains(documents[1], "RegistryMirrorConfig")])
    error_message = "every machine has the networks and mirrors"
  }
}
