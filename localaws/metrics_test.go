package localaws_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws"
)

// own reads one of the server's own pages.
func own(t *testing.T, server *localaws.Server, path string) map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://localaws/_localaws/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

// walk reads all pages of a list, and returns the number of its elements and of pages.
func walk(t *testing.T, server *localaws.Server, path, list string) (elements, pages int) {
	t.Helper()
	for after := ""; ; pages++ {
		got := own(t, server, path+after)
		elements += len(got[list].([]any))
		next, more := got["next"].(string)
		if !more {
			return elements, pages + 1
		}
		after = "&after=" + next
	}
}

// TestOwnPages: every list comes in pages, without a gap and without a repetition.
func TestOwnPages(t *testing.T) {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	m := newMeters(t, server)
	for i := range 25 {
		m.send(m.queue(fmt.Sprintf("q%02d", i), nil), "x")
	}
	for range 24 {
		m.send(m.queue("q00", nil), "x")
	}
	server.Advance(60e9)
	for path, want := range map[string][2]int{
		"queues?limit=10": {25, 3}, "queues/q00/messages?limit=5": {25, 5},
		"metrics?namespace=AWS/SQS&limit=50": {175, 4},
		"metrics?namespace=other&limit=50":   {0, 1}, "alarms?limit=1": {0, 1}, "topics?limit=1": {0, 1},
	} {
		list := strings.FieldsFunc(path, func(c rune) bool { return c == '?' })[0]
		elements, pages := walk(t, server, path, list[strings.LastIndexByte(list, '/')+1:])
		if got := [2]int{elements, pages}; got != want {
			t.Errorf("%s: elements and pages %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{"queues?limit=x", "queues/other/messages", "buckets/other/objects"} {
		if got := own(t, server, path)["error"]; got == nil {
			t.Errorf("%s is not refused", path)
		}
	}
}

// TestPlantAlarm: an alarm in a seed file.
func TestPlantAlarm(t *testing.T) {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	plant(t, server, `{"alarms": [{"name": "backlog", "topics": ["alerts"], "attributes": {
		"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible", "Statistic": "Maximum",
		"Dimensions": [{"Name": "QueueName", "Value": "orders"}], "Period": 60, "EvaluationPeriods": 3,
		"Threshold": 1000, "ComparisonOperator": "GreaterThanThreshold"}}]}`)
	all := server.CloudWatch().Alarms()
	if len(all) != 1 || all[0].AlarmName != "backlog" || *all[0].Threshold != 1000 ||
		all[0].AlarmActions[0] != topicARN {
		t.Errorf("%+v", all)
	}
}
