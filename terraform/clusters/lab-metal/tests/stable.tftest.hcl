# A machine that goes takes nothing with it; test/terraform reads the second
# run's plan and compares what it would do with the machine's name.
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

  addons = {
    vnfbench = { registry = "registry.example.com/lab", tag = "1.2.3" }
    multus   = { manifest = "../../modules/addons/tests/fixtures/multus-daemonset-thick.yml" }
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

run "with_a_spare_machine" {
  command = apply
  variables {
    nodes = {
      spare-1 = {
        mac          = "0c:c4:7a:00:00:41"
        role         = "worker"
        address      = "192.0.2.41/24"
        install_disk = "/dev/sda"
      }
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
  }
}

run "without_it" {
  command = plan

  assert {
    condition     = join(",", keys(output.nodes)) == "cp-1,dut-1,gen-1"
    error_message = "the machine is still there"
  }
}
