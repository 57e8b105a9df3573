package topology_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/contexts"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/topology"
)

// hanging is a backend whose server answers nothing from some time on.
type hanging struct {
	*local.Backend
	shop *topology.Spec
}

// Hang makes the server answer nothing.
func (h *hanging) Hang() {
	h.Server().Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Delay: time.Hour}
	})
}

// Every function of the package that takes a context ends with it, although the service answers nothing.
func TestContextsEnd(t *testing.T) {
	type ctx = context.Context
	open := func(t *testing.T) *hanging {
		b, err := local.Open(t.Context(), &local.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close(context.Background()) })
		return &hanging{b, shop(t)}
	}
	contexts.Check(t, ".", open, contexts.Cases[*hanging]{
		"Plan": func(h *hanging) func(ctx) error {
			return func(c ctx) error {
				_, err := topology.Plan(c, h.Backend, h.shop)
				return err
			}
		},
		"Apply": func(h *hanging) func(ctx) error {
			return func(c ctx) error {
				_, err := topology.Apply(c, h.Backend, h.shop, nil)
				return err
			}
		},
		"Adopt": func(h *hanging) func(ctx) error {
			return func(c ctx) error {
				_, err := topology.Adopt(c, h.Backend, h.shop, true)
				return err
			}
		},
		"Import": func(h *hanging) func(ctx) error {
			return func(c ctx) error {
				_, err := topology.Import(c, h.Backend, "shop", "")
				return err
			}
		},
		"Resources": func(h *hanging) func(ctx) error {
			return func(c ctx) error {
				_, err := topology.Resources(c, h.Backend, nil)
				return err
			}
		},
		"Destroy": func(h *hanging) func(ctx) error {
			return func(c ctx) error {
				_, err := topology.Destroy(c, h.Backend, h.shop, nil)
				return err
			}
		},
	}, nil)
}
