// Package cron computes times of schedules. Its noun is the expression: five fields of times as crontab has them, in a
// time zone, and the next time that they name. It reads no clock.
package cron
