//go:build synctests

package schemaregistry_test

import (
	"testing"
	"testing/synctest"

	"github.com/godwitmq/godwit/godwittest"
)

// On Kafka, an outage lasts longer than a failed record may block its key.
func TestAnOutageRejectsNothingOnKafka(t *testing.T) {
	for name, fault := range faults() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				survives(t, godwittest.NewKafka(t, nil), fault)
			})
		})
	}
}
