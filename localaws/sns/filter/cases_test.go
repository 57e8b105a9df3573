package filter_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/godwitmq/godwit/localaws/sns/filter"
)

var casesFile = flag.String("cases", "", "write policies, bodies and verdicts to this file, for testdata/Compare.java")

// numberOfCases is how many cases are tried; those with a refused policy are not written.
const numberOfCases = 60_000

// TestWriteCases writes cases for a comparison with Amazon's own matcher, see testdata/Compare.java.
func TestWriteCases(t *testing.T) {
	if *casesFile == "" {
		t.Skip("no -cases")
	}
	file, err := os.Create(*casesFile)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(file)
	for seed := range uint64(numberOfCases) {
		d := generator{rand.New(rand.NewPCG(seed, 99))}
		policy, policyText := through(t, d.policy(2))
		p, err := filter.Compile(policyText, filter.MessageBody)
		if err != nil || overlaps(policy) {
			continue
		}
		_, body := through(t, d.object(3))
		fmt.Fprintf(w, "%s\t%s\t%v\n", policyText, body, p.MatchBody(context.Background(), body))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
