package vnf

import (
	"errors"
	"fmt"
)

// Settings has one member for each function that has settings; a
// configuration has only that of its function.
type Settings struct {
	// Firewall is what function Firewall filters.
	Firewall *Firewall `json:"firewall,omitempty"`
	// Gateway is the tunnel of function EncryptionGateway.
	Gateway *Gateway `json:"encryptionGateway,omitempty"`
}

// State has one member for each function that reports its own state in its
// status.
type State struct {
	Firewall          *FirewallState          `json:"firewall,omitempty"`
	EncryptionGateway *EncryptionGatewayState `json:"encryptionGateway,omitempty"`
}

// functions is the registry of the reference functions, by the API's names. The
// registry of package vnf/kernel has what each does in the kernel, that of
// package plan how the operator plans it.
var functions = []function{
	{name: FunctionRouter},
	{FunctionFirewall, "firewall", func(c *Config) settings { return present(c.Firewall) }},
	{FunctionEncryptionGateway, "encryptionGateway", func(c *Config) settings { return present(c.Gateway) }},
}

// function is one entry of the registry.
type function struct {
	name string
	// member is the JSON name of the function's settings; "" where it has none.
	member string
	// settings returns the function's settings in a configuration, or nil.
	settings func(*Config) settings
}

// settings is what the settings of every function can do.
type settings interface {
	// validate checks the settings in a configuration whose other parts are
	// valid. The error starts with the field inside of the settings.
	validate(*Config) error
	// needs lists what the function needs with these settings.
	needs() Needs
}

// Needs is what a function needs of the machine that it runs in, in addition
// to ports, addresses and routes.
type Needs struct {
	// Bridge joins the ports on layer 2; they have no addresses and routes then.
	Bridge bool
	// BridgeNetfilter shows bridged packets to the packet filters of IP.
	BridgeNetfilter bool
	// Interfaces are made by the function, after the kernel parameters are set.
	Interfaces bool
	// Keys is a folder with key files.
	Keys bool
	// TUN is the node's TUN device.
	TUN bool
	// Ciphers are the processor's accelerated ciphers.
	Ciphers bool
	// Modules of the kernel that it does not load on demand.
	Modules []string
}

// present returns settings as an interface that is nil where they are absent.
func present[T any, P interface {
	*T
	settings
}](s P) settings {
	if s == nil {
		return nil
	}
	return s
}

// Functions returns the names of the reference functions.
func Functions() []string {
	names := make([]string, 0, len(functions))
	for _, f := range functions {
		names = append(names, f.name)
	}
	return names
}

// Needs returns what the configured function needs.
func (c *Config) Needs() Needs {
	for _, f := range functions {
		if s := f.settingsIn(c); s != nil {
			return s.needs()
		}
	}
	return Needs{}
}

// Bridged reports whether the function joins its ports on layer 2.
func (c *Config) Bridged() bool { return c.Needs().Bridge }

func (f function) settingsIn(c *Config) settings {
	if f.settings == nil {
		return nil
	}
	return f.settings(c)
}

// validateFunction checks that the function is known and has only its own
// settings.
func (c *Config) validateFunction() error {
	if err := oneOf("function", c.Function, Functions()...); err != nil {
		return err
	}
	for _, f := range functions {
		switch found := f.settingsIn(c) != nil; {
		case found && f.name != c.Function:
			return fmt.Errorf("%s: is for function %q alone, this one is %q", f.member, f.name, c.Function)
		case !found && f.name == c.Function && f.settings != nil:
			return fmt.Errorf("%s: is missing, and function %q needs it", f.member, f.name)
		}
	}
	return nil
}

// validateSettings checks the function's settings.
func (c *Config) validateSettings() error {
	for _, f := range functions {
		if s := f.settingsIn(c); s != nil {
			if err := s.validate(c); err != nil {
				return fmt.Errorf("%s.%w", f.member, err)
			}
		}
	}
	return nil
}

// validateBridged checks that layer 3 settings are absent.
func (c *Config) validateBridged() error {
	if len(c.Ports) != 2 {
		return fmt.Errorf("ports: %d given, a bridging function has two", len(c.Ports))
	}
	for i, port := range c.Ports {
		if len(port.Addresses) > 0 {
			return fmt.Errorf("ports[%d].addresses: a bridging function has none; leave them out", i)
		}
	}
	if len(c.Routes) > 0 {
		return errors.New("routes: a bridging function has none; leave them out")
	}
	if len(c.Neighbors) > 0 {
		return errors.New("neighbors: a bridging function has none; leave them out")
	}
	return nil
}
