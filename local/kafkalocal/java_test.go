package kafkalocal_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

var javaClasses = flag.String("java", "", "the class path of Kafka's own clients; .ci/kafka gives it")

// Java's clients get the same answers here as from a real broker; see testdata/Walk.java.
func TestJavaWalksThrough(t *testing.T) {
	if *javaClasses == "" {
		t.Skip("no -java: .ci/kafka runs this")
	}
	brokers := map[string]string{"embedded": serve(t, &kafkalocal.ServerOptions{Addr: "127.0.0.1:0"}).Addr()}
	if addr := os.Getenv(realBroker); addr != "" {
		brokers["real"] = addr
	}
	for name, addr := range brokers {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, "java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp",
				*javaClasses, "testdata/Walk.java", addr).CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}
