// A walk through CloudWatch with the AWS SDK for JavaScript v3, which speaks awsJson with it, and rpcv2Cbor and query
// when it is asked to.
import * as cw from '@aws-sdk/client-cloudwatch'
import * as q from '@aws-sdk/client-sqs'
import * as n from '@aws-sdk/client-sns'
import { AwsQueryProtocol, AwsSmithyRpcV2CborProtocol } from '@aws-sdk/core/protocols'
import assert from 'node:assert/strict'

let checks = 0

function same(what, got, want) {
  checks++
  assert.deepEqual(got, want, `${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`)
}

async function refused(what, name, status, promise) {
  checks++
  try {
    await promise
  } catch (e) {
    assert.deepEqual([e.name, e.$metadata?.httpStatusCode], [name, status], `${what}: ${e.message}`)
    return e
  }
  assert.fail(`${what}: no error`)
}

async function advance(d) {
  const answer = await fetch(`${process.env.AWS_ENDPOINT_URL}/_localaws/advance?d=${d}`, { method: 'POST' })
  return new Date((await answer.json()).now)
}

// begin moves the server's clock to the beginning of a minute, and returns its time. What follows has the minute for
// itself: an alarm is evaluated, and a queue reports, at the end of each minute.
const begin = async () => advance(`${60 - (await advance('0s')).getUTCSeconds()}s`)

const minute = 60_000
const around = (now) => ({ StartTime: new Date(now - 10 * minute), EndTime: new Date(+now + 5 * minute) })

// metrics puts and reads metrics, and has an alarm evaluated.
async function metrics(protocol, settings) {
  const client = new cw.CloudWatchClient(settings)
  const send = (command) => client.send(command)
  const Namespace = `js-${protocol}`
  const now = await begin()

  // More than 10 KiB, which the SDK compresses.
  const Dimensions = [{ Name: 'Host', Value: 'x'.repeat(300) }]
  await send(new cw.PutMetricDataCommand({
    Namespace, MetricData: Array.from({ length: 100 }, (_, Value) => ({ MetricName: 'latency', Value, Unit: 'Milliseconds', Dimensions, Timestamp: now })),
  }))
  await send(new cw.PutMetricDataCommand({
    Namespace, MetricData: [
      { MetricName: 'size', Values: [1, 10.5], Counts: [2, 4], Unit: 'Count' },
      { MetricName: 'set', StatisticValues: { SampleCount: 10, Sum: 55, Minimum: 1, Maximum: 10 } },
    ],
  }))
  const names = []
  for await (const page of cw.paginateListMetrics({ client }, { Namespace })) names.push(...page.Metrics.map((m) => m.MetricName))
  same(`${protocol}: metrics`, names.sort(), ['latency', 'set', 'size'])
  const { Datapoints } = await send(new cw.GetMetricStatisticsCommand({
    Namespace, MetricName: 'size', ...around(now), Period: 300, Statistics: ['SampleCount', 'Sum', 'Maximum'],
  }))
  same(`${protocol}: statistics`, Datapoints.map((p) => [p.SampleCount, p.Sum, p.Maximum, p.Unit, p.Timestamp instanceof Date]), [[6, 44, 10.5, 'Count', true]])
  const stat = (Id, MetricName, Stat, more) => ({ Id, MetricStat: { Metric: { Namespace, MetricName, ...more }, Period: 60, Stat } })
  const out = await send(new cw.GetMetricDataCommand({
    MetricDataQueries: [stat('p', 'latency', 'p90', { Dimensions }), stat('s', 'set', 'Sum'), { Id: 'e', Expression: 's * 2 + 1', Label: 'twice' }], ...around(now),
  }))
  same(`${protocol}: data`, Object.fromEntries(out.MetricDataResults.map((r) => [r.Id, r.Values])), { p: [89], s: [55], e: [111] })
  same(`${protocol}: a label`, out.MetricDataResults.find((r) => r.Id === 'e').Label, 'twice')

  await refused(`${protocol}: both values`, 'InvalidParameterCombinationException', 400,
    send(new cw.PutMetricDataCommand({ Namespace, MetricData: [{ MetricName: 'm', Value: 1, Values: [1] }] })))
  await refused(`${protocol}: a unit`, 'InvalidParameterValueException', 400,
    send(new cw.PutMetricDataCommand({ Namespace, MetricData: [{ MetricName: 'm', Value: 1, Unit: 'Yards' }] })))
  const e = await refused(`${protocol}: what is not built`, 'NotImplemented', 501, send(new cw.DescribeAlarmHistoryCommand({})))
  same(`${protocol}: it is named`, e.message.includes('DescribeAlarmHistory'), true)

  const AlarmName = `js-${protocol}`
  await send(new cw.PutMetricAlarmCommand({
    AlarmName, Namespace, MetricName: 'set', Statistic: 'Maximum', Period: 60, EvaluationPeriods: 1, Threshold: 9.5,
    ComparisonOperator: 'GreaterThanThreshold', TreatMissingData: 'notBreaching', Tags: [{ Key: 'team', Value: 'a' }],
  }))
  const alarm = async () => (await send(new cw.DescribeAlarmsCommand({ AlarmNames: [AlarmName] }))).MetricAlarms[0]
  const first = await alarm()
  same(`${protocol}: a new alarm`, [first.StateValue, first.Threshold, first.StateUpdatedTimestamp instanceof Date], ['INSUFFICIENT_DATA', 9.5, true])
  same(`${protocol}: its tags`, (await send(new cw.ListTagsForResourceCommand({ ResourceARN: first.AlarmArn }))).Tags, [{ Key: 'team', Value: 'a' }])
  await advance('1m')
  same(`${protocol}: its state`, (await alarm()).StateValue, 'ALARM')
  await send(new cw.SetAlarmStateCommand({ AlarmName, StateValue: 'OK', StateReason: 'by hand' }))
  same(`${protocol}: by hand`, (await alarm()).StateReason, 'by hand')
  await refused(`${protocol}: no such alarm`, 'ResourceNotFound', 404,
    send(new cw.SetAlarmStateCommand({ AlarmName: 'js-none', StateValue: 'OK', StateReason: '' })))
  await send(new cw.DeleteAlarmsCommand({ AlarmNames: [AlarmName] }))
  same(`${protocol}: deleted`, await alarm(), undefined)
}

// queues reads the metrics of a queue and of a topic, and the gap of a queue that sleeps.
async function queues() {
  const client = new cw.CloudWatchClient({})
  const sqs = new q.SQSClient({}), sns = new n.SNSClient({})
  await begin()
  const { QueueUrl } = await sqs.send(new q.CreateQueueCommand({ QueueName: 'js-metrics' }))
  const { TopicArn } = await sns.send(new n.CreateTopicCommand({ Name: 'js-metrics' }))
  await sqs.send(new q.SendMessageCommand({ QueueUrl, MessageBody: 'Hello' }))
  await sns.send(new n.PublishCommand({ TopicArn, Message: 'Hello' }))
  const read = async (now, Namespace, MetricName, Dimension) => (await client.send(new cw.GetMetricDataCommand({
    MetricDataQueries: [{ Id: 'm', MetricStat: { Metric: { Namespace, MetricName, Dimensions: [{ Name: Dimension, Value: 'js-metrics' }] }, Period: 60, Stat: 'Sum' } }],
    ...around(now),
  }))).MetricDataResults[0].Values
  let now = await advance('1m')
  same('a queue', await read(now, 'AWS/SQS', 'SentMessageSize', 'QueueName'), [5])
  same('a topic', await read(now, 'AWS/SNS', 'NumberOfMessagesPublished', 'TopicName'), [1])
  await sqs.send(new q.PurgeQueueCommand({ QueueUrl }))
  now = await advance('7h')
  same('a queue that sleeps has no points', await read(now, 'AWS/SQS', 'NumberOfMessagesSent', 'QueueName'), [])
}

await metrics('json', {})
// This protocol of the SDK sends the length from before the compression, and then hangs.
await metrics('cbor', { protocol: AwsSmithyRpcV2CborProtocol, disableRequestCompression: true })
await metrics('query', { protocol: AwsQueryProtocol })
await queues()
console.log(`${checks} checks`)
