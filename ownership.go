package godwit

import (
	"strconv"
	"time"
)

// Ownership says who owns a channel, and when to alert them. It is stored as tags of the provisioned resources, from
// which alarms and clean-ups can be made. The zero value sets no tags.
type Ownership struct {
	Owner       string // a team, a mailing list
	Environment string // production, staging, …
	Critical    bool   // alerts wake someone up

	// Alarm thresholds; 0: the defaults of the tool that makes the alarms.
	AlarmAge         time.Duration // of the oldest waiting message
	AlarmDepth       int           // waiting messages
	AlarmDeadLetters int

	Tags map[string]string // additional tags
}

// maxTag bounds a tag's value; SQS allows 256 characters.
const maxTag = 256

func (o *Ownership) check(field string) error {
	for _, v := range []string{o.Owner, o.Environment} {
		if len(v) > maxTag {
			return invalid(field, v, "it must have at most "+strconv.Itoa(maxTag)+" characters")
		}
	}
	for k, v := range o.Tags {
		if k == "" || len(v) > maxTag {
			return invalid(field+".Tags", k+"="+v,
				"a tag must have a name, and a value of at most "+strconv.Itoa(maxTag)+" characters")
		}
	}
	if o.AlarmAge < 0 || o.AlarmDepth < 0 || o.AlarmDeadLetters < 0 {
		return invalid(field, o.AlarmAge, "a threshold cannot be negative")
	}
	return nil
}

func (o *Ownership) tags() map[string]string {
	tags := map[string]string{}
	set := func(name, value string, there bool) {
		if there {
			tags[name] = value
		}
	}
	set("owner", o.Owner, o.Owner != "")
	set("environment", o.Environment, o.Environment != "")
	set("critical", "true", o.Critical)
	set("alarm-age", strconv.Itoa(int(o.AlarmAge/time.Second)), o.AlarmAge > 0)
	set("alarm-depth", strconv.Itoa(o.AlarmDepth), o.AlarmDepth > 0)
	set("alarm-dead-letters", strconv.Itoa(o.AlarmDeadLetters), o.AlarmDeadLetters > 0)
	for name, value := range o.Tags {
		set(name, value, true)
	}
	return tags
}
