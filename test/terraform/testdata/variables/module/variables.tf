# A module that checks one variable, and another not.
variable "checked" {
  description = "A name. Example: \"a\"."
  type        = string

  validation {
    condition     = var.checked != ""
    error_message = "checked is a name, such as a."
  }
}

variable "switch" {
  description = "Whether."
  type        = bool
}

variable "unchecked" {
  description = "A name. Example: \"a\"."
  type        = string
}
