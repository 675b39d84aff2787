# A Testbed as a manifest, for machines that Terraform did not make. It needs no provider.
# In a configuration of yours, write
# git::https://git.example.com/vnfbench.git//terraform/modules/testbed?ref=COMMIT where this
# one has ../../modules/testbed, or an address in a registry.
terraform {
  required_version = ">= 1.9"
}

module "testbed" {
  source = "../../modules/testbed"

  name = "lab"
  nodes = {
    gen-1 = { labels = { "vnfbench.io/role" = "generator" } }
    dut-1 = { labels = { "vnfbench.io/role" = "device" } }
  }
  host_devices = {
    generator_west = "0000:03:00.0"
    generator_east = "0000:03:00.1"
    device_west    = { pci_address = "0000:41:00.0" }
    device_east    = { pci_address = "0000:41:00.1" }
  }
}

output "testbed" {
  description = "The manifest: `terraform output -raw testbed | kubectl apply -f -`."
  value       = module.testbed.manifest
}
