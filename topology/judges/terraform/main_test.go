package main

import (
	"os"
	"strings"
	"testing"
)

// The export is right, and mistakes in it are found.
func TestJudge(t *testing.T) {
	text, err := os.ReadFile("../../testdata/shop.tf.json")
	if err != nil {
		t.Fatal(err)
	}
	if wrong := judge(text, "shop.tf.json"); wrong.HasErrors() {
		t.Error(wrong)
	}
	for name, broken := range map[string][2]string{
		"a block that does not exist":    {`"resource"`, `"resources"`},
		"another resource":               {`${aws_sns_topic.ledger.arn}`, `${aws_sns_topic.leger.arn}`},
		"an attribute that is not there": {`${aws_sns_topic.ledger.arn}`, `${aws_sns_topic.ledger.url}`},
		"a type that does not exist":     {`"aws_sqs_queue_policy"`, `"aws_sqs_policy"`},
		"a policy that is no JSON":       {`"policy": "{`, `"policy": "`},
		"an open template":               {`${aws_sns_topic.ledger.arn}`, `${aws_sns_topic.ledger.arn`},
		"an import of nothing":           {`{`, `{"import": [{"to": "aws_sqs_queue.none", "id": "x"}],`},
	} {
		changed := strings.Replace(string(text), broken[0], broken[1], 1)
		if changed == string(text) {
			t.Errorf("%s: the export has no %s to break", name, broken[0])
		} else if wrong := judge([]byte(changed), "shop.tf.json"); !wrong.HasErrors() {
			t.Errorf("%s is not found", name)
		}
	}
}
