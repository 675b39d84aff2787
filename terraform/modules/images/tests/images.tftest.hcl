# Applied against a mocked provider, which gives each schematic an id by itself.
mock_provider "talos" {
  mock_data "talos_image_factory_urls" {
    # Every field: OpenTofu's mocks want a nested object whole.
    defaults = {
      urls = {
        disk_image            = "https://factory.example/nocloud-amd64.raw.xz"
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
  talos_version = "v1.13.0"
  platform      = "nocloud"
  nodes = {
    cp-1  = {}
    cp-2  = {}
    gen-1 = { measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7" } }
    gen-2 = { measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7" } }
    dut-1 = {
      measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7", hugepages_1gi = 8, hugepages_2mi = 512 }
      kernel_args = ["console=ttyS1,115200"]
    }
    own-1 = {
      measurement  = { reserved_cpus = "0-1", isolated_cpus = "2-7" }
      schematic_id = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
    }
  }
}

run "classes" {
  command = apply

  assert {
    condition     = length(talos_image_factory_schematic.class) == 3 && length(data.talos_image_factory_urls.class) == 4
    error_message = "one schematic for each list of arguments, and none for a machine that names its own"
  }
  assert {
    condition     = output.images["gen-1"].class == output.images["gen-2"].class && output.images["gen-1"].class != output.images["dut-1"].class
    error_message = "machines with the same arguments share an image"
  }
  assert {
    condition     = output.images["gen-1"].schematic_id == talos_image_factory_schematic.class[output.images["gen-1"].class].id
    error_message = "the image is the schematic's"
  }
  assert {
    condition     = output.images["own-1"].schematic_id == "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515" && data.talos_image_factory_urls.class[output.images["own-1"].class].schematic_id == output.images["own-1"].schematic_id
    error_message = "a given schematic is used as it is"
  }
  assert {
    condition     = join(" ", yamldecode(output.schematics[output.images["dut-1"].class]).customization.extraKernelArgs) == join(" ", output.kernel_args["dut-1"])
    error_message = "the factory puts the arguments into the image"
  }
  assert {
    condition     = alltrue([for arg in ["isolcpus=managed_irq,domain,2-7", "irqaffinity=0-1", "iommu=pt", "console=ttyS1,115200"] : contains(output.kernel_args["dut-1"], arg)])
    error_message = "CPUs are isolated, devices can be passed through, and further arguments are there"
  }
  assert {
    # The kernel takes a number of pages for the size that was named last.
    condition     = strcontains(join(" ", output.kernel_args["dut-1"]), "hugepagesz=1G hugepages=8 hugepagesz=2M hugepages=512")
    error_message = "huge pages of both sizes are set aside at boot"
  }
  assert {
    condition     = length(output.kernel_args["cp-1"]) == 0 && length(yamldecode(output.schematics[output.images["cp-1"].class]).customization) == 0
    error_message = "an ordinary machine has Talos as it is"
  }
}

run "arguments_of_the_iommu" {
  command = plan

  assert {
    # The kernel's amd_iommu has no value "on", and kvm's nested is for guests of a machine's own guests.
    condition     = length([for arg in flatten(values(output.kernel_args)) : arg if startswith(arg, "amd_iommu=") || startswith(arg, "kvm_")]) == 0
    error_message = "no argument that has no effect"
  }
}

run "extensions" {
  command = apply
  variables { extensions = ["siderolabs/intel-ucode", "siderolabs/amd-ucode"] }

  assert {
    condition     = alltrue([for text in output.schematics : join(",", yamldecode(text).customization.systemExtensions.officialExtensions) == "siderolabs/amd-ucode,siderolabs/intel-ucode"])
    error_message = "each image has the extensions"
  }
}

run "wrong_values" {
  command = plan
  variables {
    talos_version = "v1.11.5"
    platform      = "aws"
    extensions    = ["intel-ucode"]
    nodes         = { a = { kernel_args = ["two words"] } }
  }
  expect_failures = [var.talos_version, var.platform, var.extensions, var.nodes]
}

run "version_without_v" {
  command = plan
  variables { talos_version = "1.13.0" }
  expect_failures = [var.talos_version]
}

run "cpus_that_are_no_list" {
  command = plan
  variables { nodes = { a = { measurement = { reserved_cpus = "none", isolated_cpus = "2-7" } } } }
  expect_failures = [var.nodes]
}

run "half_a_page" {
  command = plan
  variables { nodes = { a = { measurement = { reserved_cpus = "0", isolated_cpus = "2-7", hugepages_1gi = 0.5 } } } }
  expect_failures = [var.nodes]
}

run "schematic_that_is_no_id" {
  command = plan
  variables { nodes = { a = { schematic_id = "abc" } } }
  expect_failures = [var.nodes]
}
