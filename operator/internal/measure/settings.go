package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Reasons of the API, which this package does not import.
const (
	reasonVersionMismatch    = "VersionMismatch"
	reasonNotOfferedByDriver = "NotOfferedByDriver"
)

// DriverSettings choose and configure a traffic driver.
type DriverSettings struct {
	// Name is the name under which the driver is registered, such as the API's name of a
	// generator.
	Name string `json:"name"`
	// Settings are the driver's own, which only it can read; empty if it has none.
	Settings json.RawMessage `json:"settings,omitempty"`
}

// NewDriverSettings returns settings with a driver's own as JSON.
func NewDriverSettings(name string, settings any) (DriverSettings, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return DriverSettings{}, fmt.Errorf("writing the settings of driver %q: %w", name, err)
	}
	return DriverSettings{Name: name, Settings: text}, nil
}

// Decode reads the settings into a driver's own type. It refuses a field that the type does
// not have: the operator that wrote it is of another version, and relies on what it
// requested.
func (d DriverSettings) Decode(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(d.Settings))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		err = errors.New("there is more than one value")
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("there are none")
	}
	if err == nil {
		return nil
	}
	return &Failure{
		Reason: reasonVersionMismatch, Remedy: "use an operator and a measurer of the same version",
		Err: fmt.Errorf("reading the settings of driver %q: %w", d.Name, err),
	}
}

// UnmarshalJSON keeps the settings without the white space of an indented document, so that
// what is read equals what was written.
func (d *DriverSettings) UnmarshalJSON(text []byte) error {
	type plain DriverSettings
	var read plain
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if len(read.Settings) > 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, read.Settings); err != nil {
			return err
		}
		read.Settings = compact.Bytes()
	}
	*d = DriverSettings(read)
	return nil
}
