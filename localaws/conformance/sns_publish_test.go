package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"
)

// posting is a message of a batch.
func posting(id, message string) types.PublishBatchRequestEntry {
	return types.PublishBatchRequestEntry{Id: &id, Message: &message}
}

func (f *topics) batch(topic *string, entries ...types.PublishBatchRequestEntry) (*sns.PublishBatchOutput, error) {
	return f.sns.PublishBatch(f.ctx, &sns.PublishBatchInput{TopicArn: topic, PublishBatchRequestEntries: entries})
}

func TestSNSPublishReachesEverySubscription(t *testing.T) {
	runTopics(t, "enveloped and raw, by TopicArn and TargetArn", func(f *topics) {
		topic, enveloped, bare := f.topic(false), f.inbox(false), f.inbox(false)
		f.publish(&sns.PublishInput{TopicArn: topic, Message: aws.String("nobody is there yet")})
		sub := f.subscribe(topic, enveloped, nil)
		f.subscribe(topic, bare, asRaw())
		out := f.publish(&sns.PublishInput{
			TargetArn: topic, Message: aws.String("ö§a1\"_!?,. £$-"), Subject: aws.String("[Subject]"),
			MessageGroupId: aws.String("group"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"s": {DataType: aws.String("String.label"), StringValue: aws.String("v")},
				"n": {DataType: aws.String("Number"), StringValue: aws.String("99.12")},
				"b": {DataType: aws.String("Binary"), BinaryValue: []byte{2, 3, 4}},
				"a": {DataType: aws.String("String.Array"), StringValue: aws.String(`["x"]`)},
			},
		})
		want := []arrival{{
			Body: "ö§a1\"_!?,. £$-",
			Attributes: map[string]string{
				"s": "String.label v", "n": "Number 99.12", "b": "Binary \x02\x03\x04",
				"a": `String.Array ["x"]`,
			},
			System: map[string]string{"MessageGroupId": "group"},
		}}
		if diff := cmp.Diff(want, bare.take(1)); diff != "" {
			f.Error(diff)
		}
		arrived := enveloped.take(1)[0]
		if arrived.Attributes != nil || arrived.System["MessageGroupId"] != "group" {
			f.Errorf("enveloped with %v %v", arrived.Attributes, arrived.System)
		}
		body := decodedJSON(f, arrived.Body).(map[string]any)
		for _, name := range []string{"Timestamp", "Signature", "SigningCertURL"} {
			if s, _ := body[name].(string); s == "" {
				f.Errorf("%s is %v", name, body[name])
			}
			delete(body, name)
		}
		unsubscribe, _ := body["UnsubscribeURL"].(string)
		if !strings.HasSuffix(unsubscribe, "/?Action=Unsubscribe&SubscriptionArn="+*sub) {
			f.Errorf("UnsubscribeURL %s", unsubscribe)
		}
		delete(body, "UnsubscribeURL")
		plain := map[string]any{
			"Type": "Notification", "MessageId": *out.MessageId, "TopicArn": *topic, "Subject": "[Subject]",
			"Message": "ö§a1\"_!?,. £$-", "SignatureVersion": "1",
			"MessageAttributes": map[string]any{
				"s": map[string]any{"Type": "String.label", "Value": "v"},
				"n": map[string]any{"Type": "Number", "Value": "99.12"},
				"b": map[string]any{"Type": "Binary", "Value": "AgME"},
				"a": map[string]any{"Type": "String.Array", "Value": `["x"]`},
			},
		}
		if diff := cmp.Diff(plain, body); diff != "" {
			f.Error(diff)
		}
	})
}

func TestSNSPublishRefuses(t *testing.T) {
	runTopics(t, "messages that cannot be", func(f *topics) {
		topic, fifo := f.topic(false), f.topic(true)
		for _, c := range []struct {
			in    sns.PublishInput
			fault string
		}{
			{sns.PublishInput{TopicArn: topic, Message: aws.String("")}, "Empty message"},
			{sns.PublishInput{TopicArn: topic, Message: aws.String("m"), Subject: aws.String("")}, "Subject"},
			{
				sns.PublishInput{
					TopicArn: topic, Message: aws.String("m"),
					Subject: aws.String(strings.Repeat("x", 101)),
				},
				"Subject",
			},
			{sns.PublishInput{TopicArn: topic, Message: aws.String("m"), Subject: aws.String("a\nb")}, "Subject"},
			{
				sns.PublishInput{Message: aws.String("m")},
				"TopicArn or TargetArn Reason: no value for required parameter",
			},
			{
				sns.PublishInput{TopicArn: aws.String(""), Message: aws.String("m")},
				"TopicArn Reason: An ARN must have at least 6 elements, not 1",
			},
			{
				sns.PublishInput{TargetArn: aws.String("arn:aws:sns:" + f.region + ":" + f.account +
					":endpoint/APNS/abcdef/0f7d5971-aa8b-4bd5-b585-0826e9f93a66"), Message: aws.String("m")},
				"TargetArn Reason: No endpoint found for the target arn specified",
			},
			{
				sns.PublishInput{PhoneNumber: aws.String("+15551234567"), Message: aws.String("")},
				"Empty message",
			},
			{sns.PublishInput{TopicArn: topic, Message: aws.String(strings.Repeat("x", 262145))}, "Message too long"},
			{sns.PublishInput{
				TopicArn: topic, Message: aws.String(strings.Repeat("x", 262144-12+1)),
				MessageAttributes: map[string]types.MessageAttributeValue{"attr1": {
					DataType:    aws.String("Number"),
					StringValue: aws.String("1"),
				}},
			}, "Message too long"},
			{
				sns.PublishInput{TopicArn: topic, Message: aws.String("m"), MessageStructure: aws.String("xml")},
				"MessageStructure",
			},
			{sns.PublishInput{
				TopicArn: topic, Message: aws.String(`{"sqs":"m"}`),
				MessageStructure: aws.String("json"),
			}, "Message Structure - No default entry in JSON message body"},
			{sns.PublishInput{
				TopicArn: topic, Message: aws.String(`{"default":{"object":"m"}}`),
				MessageStructure: aws.String("json"),
			}, "Message Structure - No default entry in JSON message body"},
			{sns.PublishInput{
				TopicArn: topic, Message: aws.String(`{"default":"m"} }`),
				MessageStructure: aws.String("json"),
			}, "Message Structure - JSON message body failed to parse"},
			{
				sns.PublishInput{TopicArn: topic, Message: aws.String("m"), MessageDeduplicationId: aws.String("d")},
				"MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not " +
					"valid for this topic type",
			},
			{sns.PublishInput{
				TopicArn: topic, Message: aws.String("m"),
				MessageGroupId: aws.String(strings.Repeat("g",
					129)),
			}, "MessageGroupId Reason: The request includes MessageGroupId parameter that is not valid"},
			{
				sns.PublishInput{TopicArn: fifo, Message: aws.String("m"), MessageDeduplicationId: aws.String("d")},
				"The MessageGroupId parameter is required for FIFO topics",
			},
			{
				sns.PublishInput{TopicArn: fifo, Message: aws.String("m"), MessageGroupId: aws.String("g")},
				"The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided " +
					"explicitly",
			},
			{sns.PublishInput{
				TopicArn: fifo, Message: aws.String("m"), MessageGroupId: aws.String("g"),
				MessageDeduplicationId: aws.String("a b"),
			}, "MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid"},
		} {
			_, err := f.sns.Publish(f.ctx, &c.in)
			f.invalid(err, c.fault)
		}
		_, err := f.sns.Publish(f.ctx,
			&sns.PublishInput{
				TopicArn: aws.String("arn:aws:sns:" + f.region + ":999999999999:t"),
				Message:  aws.String("m"),
			})
		if status(err) != 403 {
			f.Errorf("another account's topic: %v", err)
		}
	})
}

func TestSNSMessageAttributesThatCannotBe(t *testing.T) {
	runTopics(t, "in Publish and in PublishBatch alike", func(f *topics) {
		topic := f.topic(false)
		text := func(kind, value string) types.MessageAttributeValue {
			return types.MessageAttributeValue{DataType: &kind, StringValue: &value}
		}
		binary := func(kind string, value []byte) types.MessageAttributeValue {
			return types.MessageAttributeValue{DataType: &kind, BinaryValue: value}
		}
		for _, c := range []struct {
			name  string
			value types.MessageAttributeValue
			fault string
		}{
			{
				"attr1", text("String", ""),
				"The message attribute 'attr1' must contain non-empty message attribute value for message attribute " +
					"type 'String'.",
			},
			{
				"attr1",
				types.MessageAttributeValue{DataType: aws.String("String")},
				"The message attribute 'attr1' must contain non-empty message attribute value for message attribute " +
					"type 'String'.",
			},
			{
				"attr1", binary("Binary", []byte{}),
				"The message attribute 'attr1' must contain non-empty message attribute value for message attribute " +
					"type 'Binary'.",
			},
			{
				"attr1", binary("String", []byte("123")),
				"The message attribute 'attr1' with type 'String' must use field 'String'.",
			},
			{
				"attr1", binary("Number", []byte("123")),
				"The message attribute 'attr1' with type 'Number' must use field 'String'.",
			},
			{
				"attr1", text("Binary", "123"),
				"The message attribute 'attr1' with type 'Binary' must use field 'Binary'.",
			},
			{"attr1", text("Number", "one"), "Could not cast message attribute 'attr1' value to number."},
			{
				"attr1", text("InvalidType", "123"),
				"The message attribute 'attr1' has an invalid message attribute type, the set of supported type " +
					"prefixes is Binary, Number, and String.",
			},
			{
				"attr1", text("Stringprefixed", "123"),
				"The message attribute 'attr1' has an invalid message attribute type, the set of supported type " +
					"prefixes is Binary, Number, and String.",
			},
			{
				"attr1", text("String.", "123"),
				"The message attribute 'attr1' has an invalid message attribute type, the set of supported type " +
					"prefixes is Binary, Number, and String.",
			},
			{
				strings.Repeat("a", 257), text("String", "123"),
				"Length of message attribute name must be less than 256 bytes.",
			},
			{
				"a^b", text("String", "123"),
				"Invalid non-alphanumeric character '#x5E' was found in the message attribute name. Can only include " +
					"alphanumeric characters, hyphens, underscores, or dots.",
			},
			{".a", text("String", "123"), "Invalid message attribute name starting with character '.' was found."},
			{"a.", text("String", "123"), "Invalid message attribute name ending with character '.' was found."},
			{"a..b", text("String", "123"), "Message attribute name can not have successive '.' character."},
		} {
			attributes := map[string]types.MessageAttributeValue{c.name: c.value}
			_, err := f.sns.Publish(f.ctx,
				&sns.PublishInput{TopicArn: topic, Message: aws.String("m"), MessageAttributes: attributes})
			f.refusedAs(err, 400, "ParameterValueInvalid", c.fault)
			e := posting("1", "m")
			e.MessageAttributes = attributes
			_, err = f.batch(topic, e)
			f.refusedAs(err, 400, "ParameterValueInvalid", c.fault)
		}
		// The SDK does not send an attribute without a type.
		_, body := f.queryTopics("Publish", "TopicArn", *topic, "Message", "m", "MessageAttributes.entry.1.Name",
			"attr1", "MessageAttributes.entry.1.Value.StringValue", "x")
		if want := "<Code>ValidationError</Code><Message>1 validation error detected: Value null at " +
			"&apos;messageAttributes.attr1.member.dataType&apos; failed to satisfy constraint: Member must not be " +
			"null</Message>"; !strings.Contains(strings.ReplaceAll(body, "'", "&apos;"), want) {
			f.Errorf("answered %s", body)
		}
		_, body = f.queryTopics("PublishBatch", "TopicArn", *topic, "PublishBatchRequestEntries.member.1.Id", "1",
			"PublishBatchRequestEntries.member.1.Message", "m",
			"PublishBatchRequestEntries.member.1.MessageAttributes.entry.1.Name", "attr1",
			"PublishBatchRequestEntries.member.1.MessageAttributes.entry.1.Value.StringValue", "x")
		if want := "Value null at " +
			"&apos;publishBatchRequestEntries.1.member.messageAttributes.attr1.member.dataType&apos; failed"; !strings.Contains(strings.ReplaceAll(body, "'", "&apos;"), want) {
			f.Errorf("answered %s", body)
		}
	})
}

// queryTopics calls an action of SNS in the query protocol; parameters are names and values in turn.
func (f *topics) queryTopics(action string, parameters ...string) (int, string) {
	f.Helper()
	form := []string{"Action=" + action, "Version=2010-03-31"}
	for i := 0; i < len(parameters); i += 2 {
		form = append(form, parameters[i]+"="+parameters[i+1])
	}
	code, _, body := f.raw("/", map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		strings.Join(form, "&"))
	return code, body
}

func TestSNSUnknownParametersAreRefused(t *testing.T) {
	runTopics(t, "an action or a parameter that is not there is named", func(f *topics) {
		if f.local == nil {
			f.Skip("unsigned requests")
		}
		for _, c := range []struct{ action, parameter, want string }{
			{"Nonsense", "A", "Nonsense"},
			{"ListTopics", "Nonsense", "Nonsense"},
			{"CreatePlatformApplication", "Name", "CreatePlatformApplication"},
		} {
			if code, body := f.queryTopics(c.action, c.parameter, "x"); code != 400 || !strings.Contains(body, c.want) {
				f.Errorf("%s %s: %d %s", c.action, c.parameter, code, body)
			}
		}
	})
}

func TestSNSLargestMessage(t *testing.T) {
	runTopics(t, "262,144 bytes by default, up to a mebibyte where the topic says so", func(f *topics) {
		topic, q := f.topic(false), f.inbox(false)
		f.subscribe(topic, q, asRaw())
		f.publish(&sns.PublishInput{TopicArn: topic, Message: aws.String(strings.Repeat("x", 262144))})
		got(f, 0, f.setTopic(topic, "MaximumMessageSize", "1048576"))
		f.publish(&sns.PublishInput{TopicArn: topic, Message: aws.String(strings.Repeat("x", 1048576))})
		got(f, 0, f.setTopic(topic, "MaximumMessageSize", "1024"))
		_, err := f.sns.Publish(f.ctx,
			&sns.PublishInput{TopicArn: topic, Message: aws.String(strings.Repeat("x", 1025))})
		f.invalid(err, "Message too long")
		if bodies := q.bodies(2); len(bodies[0])+len(bodies[1]) != 262144+1048576 {
			f.Errorf("%d and %d bytes", len(bodies[0]), len(bodies[1]))
		}
	})
}

func TestSNSMessageStructureJSON(t *testing.T) {
	runTopics(t, "each protocol gets its own text", func(f *topics) {
		topic, q := f.topic(false), f.inbox(false)
		f.subscribe(topic, q, asRaw("FilterPolicyScope", "MessageBody", "FilterPolicy", `{"keep":[{"exists":true}]}`))
		for _, text := range []string{
			`{"default":"x","sqs":"{\"keep\":1}"}`, `{"default":"{\"keep\":2}","http":"x"}`,
			`{"default":"{\"keep\":3}","sqs":"dropped"}`,
			`{"default":"x","default":"{\"keep\":4}"}`, `{"default":"{\"keep\":5}","sqs":{"not":"a string"}}`,
		} {
			f.publish(&sns.PublishInput{TopicArn: topic, Message: &text, MessageStructure: aws.String("json")})
		}
		seen := map[string]bool{}
		for _, body := range q.bodies(4) {
			seen[body] = true
		}
		if diff := cmp.Diff(map[string]bool{
			`{"keep":1}`: true, `{"keep":2}`: true, `{"keep":4}`: true,
			`{"keep":5}`: true,
		}, seen); diff != "" {
			f.Error(diff)
		}
	})
}

func TestSNSPublishBatch(t *testing.T) {
	runTopics(t, "ten at most, answered one by one", func(f *topics) {
		topic, q := f.topic(false), f.inbox(false)
		f.subscribe(topic, q, asRaw())
		structured := posting("structured-_1", `{"default":"a default"}`)
		structured.MessageStructure, structured.Subject = aws.String("json"), aws.String("s")
		grouped := posting("grouped", "with a group")
		grouped.MessageGroupId = aws.String("g")
		out, err := f.batch(topic, posting("1", "one"), structured, grouped)
		got(f, 0, err)
		var ids []string
		for _, s := range out.Successful {
			ids = append(ids, *s.Id)
			if aws.ToString(s.MessageId) == "" || s.SequenceNumber != nil {
				f.Errorf("entry %s: %v", *s.Id, s)
			}
		}
		if diff := cmp.Diff([]string{"1", "structured-_1", "grouped"}, ids); diff != "" || len(out.Failed) != 0 {
			f.Errorf("%s; failed: %v", diff, out.Failed)
		}
		seen := map[string]bool{}
		for _, body := range q.bodies(3) {
			seen[body] = true
		}
		if diff := cmp.Diff(map[string]bool{"one": true, "a default": true, "with a group": true}, seen); diff != "" {
			f.Error(diff)
		}
	})
}

func TestSNSPublishBatchRefuses(t *testing.T) {
	runTopics(t, "the whole batch", func(f *topics) {
		topic, fifo, q := f.topic(false), f.topic(true), f.inbox(false)
		f.subscribe(topic, q, asRaw())
		var eleven []types.PublishBatchRequestEntry
		for i := range 11 {
			eleven = append(eleven, posting(fmt.Sprint(i), "m"))
		}
		_, err := f.batch(topic, eleven...)
		f.refusedAs(err, 400, "TooManyEntriesInBatchRequest",
			"The batch request contains more entries than permissible.")
		_, err = f.batch(topic, []types.PublishBatchRequestEntry{}...)
		if err == nil {
			f.Error("an empty batch is taken")
		}
		_, err = f.batch(topic, posting("1", "m"), posting("1", "m"))
		f.refusedAs(err, 400, "BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id.")
		_, err = f.batch(topic, posting("a b", "m"))
		f.refusedAs(err, 400, "InvalidBatchEntryId",
			"The Id of a batch entry in the batch request contains an impermissible character: a b")
		long := strings.Repeat("a", 81)
		_, err = f.batch(topic, posting(long, "m"))
		f.refusedAs(err, 400, "InvalidBatchEntryId",
			"The Id of a batch entry in the batch request is too long: "+long)
		// The number of entries is checked before the topic, the topic before the ids, and their difference before
		// their form (recorded on AWS, 2025-12-23).
		_, err = f.batch(aws.String(f.absent()), eleven...)
		f.refusedAs(err, 400, "TooManyEntriesInBatchRequest",
			"The batch request contains more entries than permissible.")
		_, err = f.batch(aws.String(f.absent()), posting("a b", "m"))
		f.refusedAs(err, 404, "NotFound", "Topic does not exist")
		_, err = f.batch(topic, posting("a b", "m"), posting("1", "m"), posting("1", "m"))
		f.refusedAs(err, 400, "BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id.")
		_, err = f.batch(topic, posting("1", strings.Repeat("a", 131072)), posting("2", strings.Repeat("b", 131073)))
		f.refusedAs(err, 400, "BatchRequestTooLong",
			"The length of all the messages put together is more than the limit.")
		_, err = f.batch(topic, posting("1", "m"), posting("2", ""))
		f.invalid(err, "Empty message")
		bad := posting("2", `{"sqs":"m"}`)
		bad.MessageStructure = aws.String("json")
		_, err = f.batch(topic, posting("1", "m"), bad)
		f.invalid(err, "Message Structure - No default entry in JSON message body")
		_, err = f.batch(fifo, posting("1", "m"))
		f.invalid(err, "The MessageGroupId parameter is required for FIFO topics")
		noID := posting("1", "m")
		noID.MessageGroupId = aws.String("g")
		_, err = f.batch(fifo, noID)
		f.invalid(err,
			"The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "+
				"explicitly")
		q.take(0)
		_, body := f.queryTopics("PublishBatch", "TopicArn", *topic, "PublishBatchRequestEntries", "")
		if f.local != nil && !strings.Contains(body, "<Code>EmptyBatchRequest</Code>") {
			f.Errorf("an empty batch: %s", body)
		}
	})
}
