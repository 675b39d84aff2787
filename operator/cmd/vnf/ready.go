//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newReadyCommand() *cobra.Command {
	var address string
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "ready",
		Short: "Ask the running function whether it is ready; for an exec probe",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(command.Context(), timeout)
			defer cancel()
			return ready(ctx, address)
		},
	}
	command.Flags().StringVar(&address, "address", "127.0.0.1:8080", "address and port that the function listens on")
	command.Flags().DurationVar(&timeout, "timeout", 2*time.Second, "how long to wait for the answer")
	return command
}

func ready(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	const maxBodyBytes = 64 << 10
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBodyBytes))
	if err != nil {
		return fmt.Errorf("reading the answer of %q: %w", address, err)
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(string(body)))
	}
	return nil
}
