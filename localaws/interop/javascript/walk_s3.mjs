// A walk through S3 with the AWS SDK for JavaScript v3, which sends streams with a checksum in the trailer.
import * as s from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'

const s3 = new s.S3Client({ forcePathStyle: true })
const Bucket = 'js-files'
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

const send = (command) => s3.send(command)
const put = (Key, Body, more) => send(new s.PutObjectCommand({ Bucket, Key, Body, ...more }))
const get = (Key, more) => send(new s.GetObjectCommand({ Bucket, Key, ...more }))
const text = async (Key, more) => (await get(Key, more)).Body.transformToString()

await send(new s.CreateBucketCommand({ Bucket }))

// One object, with every checksum, as a text and as a stream.
for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256']) {
  const up = await put(`ö +%/${ChecksumAlgorithm}`, 'hello', { ChecksumAlgorithm, Metadata: { who: 'ada' } })
  same(ChecksumAlgorithm, [up.ETag, up.ChecksumType], ['"5d41402abc4b2a76b9719d911017c592"', 'FULL_OBJECT'])
  const down = await get(`ö +%/${ChecksumAlgorithm}`, { ChecksumMode: 'ENABLED' })
  same('down', [await down.Body.transformToString(), down[`Checksum${ChecksumAlgorithm}`], down.Metadata.who], ['hello', up[`Checksum${ChecksumAlgorithm}`], 'ada'])
}
const body = randomBytes(300000)
await put('stream', Readable.from([body.subarray(0, 100000), body.subarray(100000)]), { ContentLength: body.length })
same('a stream', Buffer.compare(Buffer.from(await (await get('stream')).Body.transformToByteArray()), body), 0)
same('no aws-chunked', (await get('stream')).ContentEncoding, undefined)
await refused('a wrong checksum', 'BadDigest', 400, put('bad', 'x', { ChecksumCRC32: 'AAAAAA==' }))
await refused('nothing is stored', 'NoSuchKey', 404, get('bad'))
await refused('if absent', 'PreconditionFailed', 412, put('stream', 'x', { IfNoneMatch: '*' }))
same('range', await text('ö +%/CRC32', { Range: 'bytes=1-3' }), 'ell')

// Lists, copies and deletes.
for (let i = 0; i < 5; i++) await put(`list/${i}`, '')
const keys = []
for await (const page of s.paginateListObjectsV2({ client: s3, pageSize: 2 }, { Bucket, Prefix: 'list/' })) keys.push(...page.Contents.map((o) => o.Key))
same('pages', keys, [0, 1, 2, 3, 4].map((i) => `list/${i}`))
await send(new s.CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `${Bucket}/${encodeURIComponent('ö +%/SHA256')}` }))
same('copy', await text('copy'), 'hello')
const gone = await send(new s.DeleteObjectsCommand({ Bucket, Delete: { Objects: keys.map((Key) => ({ Key })) } }))
same('deleted', gone.Deleted.length, 5)

// Parts, by the SDK's own uploader.
const large = randomBytes(12 << 20)
const done = await new Upload({ client: s3, params: { Bucket, Key: 'large', Body: Readable.from([large]) }, partSize: 5 << 20 }).done()
same('parts', done.ETag.endsWith('-3"'), true)
same('large', Buffer.compare(Buffer.from(await (await get('large')).Body.transformToByteArray()), large), 0)

// A URL that is signed.
const url = await getSignedUrl(s3, new s.GetObjectCommand({ Bucket, Key: 'copy' }), { expiresIn: 60 })
same('signed', await (await fetch(url)).text(), 'hello')
const target = await getSignedUrl(s3, new s.PutObjectCommand({ Bucket, Key: 'signed' }), { expiresIn: 60, unhoistableHeaders: new Set(['x-amz-checksum-crc32']) })
same('signed put', (await fetch(target.replace(/&x-amz-checksum-crc32=[^&]*/, '').replace(/&x-amz-sdk-checksum-algorithm=[^&]*/, ''), { method: 'PUT', body: 'up' })).status, 200)
same('what it put', await text('signed'), 'up')

await refused('not empty', 'BucketNotEmpty', 409, send(new s.DeleteBucketCommand({ Bucket })))
await refused('no bucket', 'NoSuchBucket', 404, send(new s.ListObjectsV2Command({ Bucket: 'js-none' })))
console.log(`${checks} checks`)
