package conformance

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/sts"
	"github.com/godwitmq/godwit/localaws/tagging"
	"github.com/godwitmq/godwit/localaws/wire"
)

// covered are the actions and parameters that the cases have used: "sqs:SendMessage", "sqs:SendMessage.MessageBody".
var covered = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// unused are parameters for which a case would show nothing: this server refuses them, or stores nothing of them. A
// member of one is unused, too.
var unused = []string{
	"cloudwatch:DescribeAlarms.ChildrenOfAlarmName", "cloudwatch:DescribeAlarms.ParentsOfAlarmName",
	"cloudwatch:GetMetricData.LabelOptions", "cloudwatch:GetMetricData.MetricDataQueries.AccountId",
	"cloudwatch:PutMetricAlarm.Metrics.AccountId",
}

// watchCoverage records every called action and every parameter that was set.
func watchCoverage(server *localaws.Server) {
	server.Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		covered.Lock()
		defer covered.Unlock()
		name := r.Service + ":" + r.Action
		covered.names[name] = true
		note(name, reflect.ValueOf(r.Input).Elem())
		return localaws.Outcome{}
	})
}

func note(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			note(path, v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			note(path, v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			note(path, it.Value())
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if member := v.FieldByIndex(f.Index); f.IsExported() && !f.Anonymous && !member.IsZero() {
				name := path + "." + memberName(f)
				covered.names[name] = true
				note(name, member)
			}
		}
	}
}

// memberName returns the name of a field in AWS's model. S3's members have the fields' own names, but AWS writes Id and
// Arn.
func memberName(f reflect.StructField) string {
	name := f.Name
	for ours, theirs := range map[string]string{"ID": "Id", "ARN": "Arn"} {
		if head, ok := strings.CutSuffix(name, ours); ok && head != "" {
			name = head + theirs
		}
	}
	return cmp.Or(f.Tag.Get("json"), name)
}

// TestMain runs the cases and then fails for each action or parameter that no case used.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if code == 0 && *endpoint == "" && flag.Lookup("test.run").Value.String() == "" {
		code = judgeCoverage()
	}
	os.Exit(code)
}

func judgeCoverage() int {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer server.Close()
	var missing []string
	check := func(service, action string, members []string) {
		for _, member := range append([]string{""}, members...) {
			name := strings.TrimSuffix(service+":"+action+"."+member, ".")
			exempt := slices.ContainsFunc(unused, func(u string) bool { return strings.HasPrefix(name+".", u+".") })
			if !covered.names[name] && !exempt {
				missing = append(missing, name)
			}
		}
	}
	for _, s := range []*wire.Service{
		server.SQS().Wire(), server.SNS().Wire(), server.CloudWatch().Wire(), tagging.New().Wire(),
		sts.New(sts.Options{}).Wire(),
	} {
		for _, a := range s.Actions {
			check(s.Name, a.Name, a.Members())
		}
	}
	for _, s := range []*rest.Service{server.S3().Wire(), server.S3().Control()} {
		for _, a := range s.Actions {
			check(s.Name, a.Name, a.Members())
		}
	}
	slices.Sort(missing)
	if len(missing) == 0 {
		return 0
	}
	fmt.Printf("no case uses:\n\t%s\n", strings.Join(missing, "\n\t"))
	return 1
}
