# A root whose variables are whole, or lack something; read by variables_test.go alone.
variable "whole" {
  description = "A name. Example: \"a\"."
  type        = string

  validation {
    condition     = var.whole != ""
    error_message = "whole is a name, such as a."
  }
}

variable "switch" {
  description = "Whether."
  type        = bool
}

variable "handed_on" {
  description = "A name. Example: \"a\"."
  type        = string
}

variable "in_parts" {
  description = "Names. Example: { name = \"a\", switch = true }."
  type        = object({ name = string, switch = optional(bool, false) })
}

variable "through_each" {
  description = "Names. Example: { name = \"a\" }."
  type        = object({ name = string })
  default     = null
}

variable "nothing" {}

variable "bare_switch" {
  type = bool
}

variable "no_example" {
  description = "A name."
  type        = string

  validation {
    condition     = var.no_example != ""
    error_message = "no_example is a name, such as a."
  }
}

variable "unread_example" {
  description = "Names by class. Example: { 3e7c = \"a\" }."
  type        = map(string)

  validation {
    condition     = length(var.unread_example) > 0
    error_message = "unread_example is a name for each class."
  }
}

variable "no_message" {
  description = "A name. Example: \"a\"."
  type        = string

  validation {
    condition = var.no_message != ""
  }
}

variable "unchecked_there" {
  description = "A name. Example: \"a\"."
  type        = string
}

variable "changed_on_the_way" {
  description = "A name. Example: \"a\"."
  type        = string
}

variable "half_handed_on" {
  description = "Names. Example: { name = \"a\", other = \"b\" }."
  type        = object({ name = string, other = string })
}

module "whole" {
  source = "../module"

  checked   = var.handed_on
  unchecked = var.unchecked_there
}

module "parts" {
  source = "../module"

  checked   = var.in_parts.name
  switch    = var.in_parts.switch
  unchecked = var.half_handed_on.other
}

module "changed" {
  source = "../module"

  checked = "${var.changed_on_the_way}-1"
}

module "half" {
  source = "../module"

  checked = var.half_handed_on.name
}

module "each" {
  source   = "../module"
  for_each = var.through_each == null ? {} : { this = var.through_each }

  checked = each.value.name
}

variable "through_map" {
  description = "Names by key. Example: { a = { name = \"a\" } }."
  type        = map(object({ name = string }))
}

variable "half_through_map" {
  description = "Names by key. Example: { a = { name = \"a\", other = \"b\" } }."
  type        = map(object({ name = string, other = string }))
}

module "map" {
  source   = "../module"
  for_each = var.through_map

  checked = each.value.name
}

module "half_map" {
  source   = "../module"
  for_each = var.half_through_map

  checked   = each.value.name
  unchecked = each.value.other
}
