package s3

import (
	"slices"
	"time"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// LifecycleRules are the rules of a lifecycle, in XML.
type LifecycleRules struct {
	Rule []LifecycleRule
}

// LifecycleRule is one rule, in XML.
type LifecycleRule struct {
	ID                             *string
	Prefix                         *string
	Filter                         *LifecycleFilter
	Status                         string
	Expiration                     *LifecycleExpiration
	NoncurrentVersionExpiration    *NoncurrentExpiration
	AbortIncompleteMultipartUpload *AbortUpload
	Transition                     []bucket.Transition
	NoncurrentVersionTransition    []bucket.Transition
}

// LifecycleFilter selects the objects of a rule: by one of its elements.
type LifecycleFilter struct {
	Prefix                *string
	Tag                   *Tag
	ObjectSizeGreaterThan *int64
	ObjectSizeLessThan    *int64
	And                   *LifecycleAnd
}

// LifecycleAnd selects by several conditions.
type LifecycleAnd struct {
	Prefix                *string
	Tag                   []Tag
	ObjectSizeGreaterThan *int64
	ObjectSizeLessThan    *int64
}

// LifecycleExpiration says when objects expire.
type LifecycleExpiration struct {
	Days                      *int
	Date                      *time.Time
	ExpiredObjectDeleteMarker *bool
}

// NoncurrentExpiration says when earlier versions expire. There are none.
type NoncurrentExpiration struct {
	NoncurrentDays          *int
	NewerNoncurrentVersions *int
}

// AbortUpload says when uploads are aborted.
type AbortUpload struct {
	DaysAfterInitiation int
}

const (
	maxRules  = 1000 // S3: rules of a lifecycle
	maxRuleID = 255  // S3: characters
)

// lifecycle checks rules and returns them as the model has them.
func lifecycle(ids *random.Source, in *LifecycleRules) ([]bucket.Rule, error) {
	if in == nil || len(in.Rule) == 0 || len(in.Rule) > maxRules {
		return nil, rest.MalformedXML()
	}
	seen := map[string]bool{}
	var rules []bucket.Rule
	for i := range in.Rule {
		r, err := in.Rule[i].model()
		if err != nil {
			return nil, err
		}
		if r.ID == "" {
			r.ID = ids.UUID()
		}
		if seen[r.ID] {
			return nil, rest.InvalidArgument("Rule ID must be unique. Found same ID for more than one rule", "ID", r.ID)
		}
		seen[r.ID] = true
		rules = append(rules, r)
	}
	return rules, nil
}

func (r *LifecycleRule) model() (bucket.Rule, error) {
	out := bucket.Rule{
		Enabled: r.Status == "Enabled", Transitions: r.Transition, NoncurrentTransitions: r.NoncurrentVersionTransition,
	}
	acts := r.Expiration != nil || r.NoncurrentVersionExpiration != nil ||
		r.AbortIncompleteMultipartUpload != nil || out.Inert()
	switch {
	case r.Status != "Enabled" && r.Status != "Disabled", (r.Filter == nil) == (r.Prefix == nil):
		return out, rest.MalformedXML()
	case !acts:
		return out, rest.Refuse(400, "InvalidRequest", "At least one action needs to be specified in a rule")
	case r.ID != nil && len(*r.ID) > maxRuleID:
		return out, rest.InvalidArgument("ID length should not exceed allowed limit of 255", "ID", *r.ID)
	case r.ID != nil:
		out.ID = *r.ID
	}
	var err error
	if out.Filter, err = r.filter(); err == nil {
		err = r.expiration(&out)
	}
	if err == nil {
		err = checkTransitions(&out)
	}
	if n := r.NoncurrentVersionExpiration; n != nil {
		out.Noncurrent = &bucket.Noncurrent{}
		if n.NoncurrentDays != nil {
			out.Noncurrent.Days = *n.NoncurrentDays
		}
		if n.NewerNoncurrentVersions != nil {
			out.Noncurrent.Newer = *n.NewerNoncurrentVersions
		}
	}
	if a := r.AbortIncompleteMultipartUpload; a != nil && err == nil {
		if out.AbortDays = a.DaysAfterInitiation; out.AbortDays < 1 {
			return out, rest.InvalidArgument("'DaysAfterInitiation' for AbortIncompleteMultipartUpload action must be a "+
				"positive integer", "DaysAfterInitiation", itoa(out.AbortDays))
		}
		if len(out.Filter.Tags) > 0 || out.Filter.GreaterThan != nil || out.Filter.LessThan != nil {
			return out, invalidRequest("AbortIncompleteMultipartUpload cannot be specified with Tags or sizes")
		}
	}
	return out, err
}

func (r *LifecycleRule) expiration(out *bucket.Rule) error {
	e := r.Expiration
	if e == nil {
		return nil
	}
	given := 0
	if e.Days != nil {
		given++
		if out.Days = *e.Days; out.Days < 1 {
			return rest.InvalidArgument("'Days' for Expiration action must be a positive integer", "Days",
				itoa(out.Days))
		}
	}
	if e.Date != nil {
		given++
		if out.Date = e.Date.UTC(); !out.Date.Equal(bucket.Midnight(out.Date)) {
			return rest.InvalidArgument("'Date' must be at midnight GMT", "Date", out.Date.Format(time.RFC3339))
		}
	}
	if e.ExpiredObjectDeleteMarker != nil {
		given++
		out.ExpiredMarkers = e.ExpiredObjectDeleteMarker
	}
	if given != 1 {
		return rest.MalformedXML()
	}
	return nil
}

// leastIA is the age at which objects may move to a class of infrequent access.
const leastIA = 30

func checkTransitions(r *bucket.Rule) error {
	for _, t := range r.Transitions {
		switch {
		case (t.Days == nil) == (t.Date == nil) || t.NoncurrentDays != nil || t.NewerNoncurrentVersions != nil:
			return rest.MalformedXML()
		case t.Days != nil && *t.Days < leastIA && (t.StorageClass == "STANDARD_IA" || t.StorageClass == "ONEZONE_IA"):
			return rest.InvalidArgument("'Days' in Transition action must be greater than or equal to 30 for storageClass '"+
				t.StorageClass+"'", "Days", itoa(*t.Days))
		case t.Days != nil && *t.Days < 0:
			return rest.InvalidArgument("'Days' for Transition action must be nonnegative", "Days", itoa(*t.Days))
		case t.Date != nil && !t.Date.Equal(bucket.Midnight(t.Date.UTC())):
			return rest.InvalidArgument("'Date' must be at midnight GMT", "Date", t.Date.UTC().Format(time.RFC3339))
		}
	}
	for _, t := range r.NoncurrentTransitions {
		if t.NoncurrentDays == nil || t.Days != nil || t.Date != nil {
			return rest.MalformedXML()
		}
	}
	for _, t := range slices.Concat(r.Transitions, r.NoncurrentTransitions) {
		if !slices.Contains(storageClasses, t.StorageClass) || t.StorageClass == standard ||
			t.StorageClass == "REDUCED_REDUNDANCY" {
			return rest.MalformedXML()
		}
	}
	return nil
}

func (r *LifecycleRule) filter() (bucket.Filter, error) {
	if r.Filter == nil {
		return bucket.Filter{Prefix: *r.Prefix, Form: bucket.FormOld}, nil
	}
	f, out, given := r.Filter, bucket.Filter{}, 0
	if f.Prefix != nil {
		out.Prefix, out.Form, given = *f.Prefix, bucket.FormPrefix, given+1
	}
	if f.Tag != nil {
		out.Tags, out.Form, given = []bucket.Tag{bucket.Tag(*f.Tag)}, bucket.FormTag, given+1
	}
	if f.ObjectSizeGreaterThan != nil {
		out.GreaterThan, out.Form, given = f.ObjectSizeGreaterThan, bucket.FormGreater, given+1
	}
	if f.ObjectSizeLessThan != nil {
		out.LessThan, out.Form, given = f.ObjectSizeLessThan, bucket.FormLess, given+1
	}
	if f.And != nil {
		out.Form, given = bucket.FormAnd, given+1
		if f.And.Prefix != nil {
			out.Prefix = *f.And.Prefix
		}
		out.GreaterThan, out.LessThan = f.And.ObjectSizeGreaterThan, f.And.ObjectSizeLessThan
		tags, err := checkTags(f.And.Tag, objectTags)
		if err != nil {
			return out, err
		}
		out.Tags = tags
	}
	if given > 1 {
		return out, rest.MalformedXML()
	}
	return out, nil
}

// shownRules returns rules as the client wrote them.
func shownRules(rules []bucket.Rule) []LifecycleRule {
	var all []LifecycleRule
	for i := range rules {
		r := &rules[i]
		out := LifecycleRule{ID: &r.ID, Status: "Disabled"}
		if r.Enabled {
			out.Status = "Enabled"
		}
		out.showFilter(&r.Filter)
		if r.Days > 0 || !r.Date.IsZero() || r.ExpiredMarkers != nil {
			out.Expiration = &LifecycleExpiration{ExpiredObjectDeleteMarker: r.ExpiredMarkers}
			if r.Days > 0 {
				out.Expiration.Days = &r.Days
			} else if !r.Date.IsZero() {
				out.Expiration.Date = &r.Date
			}
		}
		if n := r.Noncurrent; n != nil {
			out.NoncurrentVersionExpiration = &NoncurrentExpiration{NoncurrentDays: &n.Days}
			if n.Newer > 0 {
				out.NoncurrentVersionExpiration.NewerNoncurrentVersions = &n.Newer
			}
		}
		out.Transition, out.NoncurrentVersionTransition = r.Transitions, r.NoncurrentTransitions
		if r.AbortDays > 0 {
			out.AbortIncompleteMultipartUpload = &AbortUpload{r.AbortDays}
		}
		all = append(all, out)
	}
	return all
}

func (r *LifecycleRule) showFilter(f *bucket.Filter) {
	out := &LifecycleFilter{}
	switch f.Form {
	case bucket.FormOld:
		r.Prefix = &f.Prefix
		return
	case bucket.FormPrefix:
		out.Prefix = &f.Prefix
	case bucket.FormTag:
		tag := Tag(f.Tags[0])
		out.Tag = &tag
	case bucket.FormGreater:
		out.ObjectSizeGreaterThan = f.GreaterThan
	case bucket.FormLess:
		out.ObjectSizeLessThan = f.LessThan
	case bucket.FormAnd:
		out.And = &LifecycleAnd{ObjectSizeGreaterThan: f.GreaterThan, ObjectSizeLessThan: f.LessThan}
		if f.Prefix != "" {
			out.And.Prefix = &f.Prefix
		}
		for _, t := range f.Tags {
			out.And.Tag = append(out.And.Tag, Tag(t))
		}
	case bucket.FormEmpty:
	}
	r.Filter = out
}
