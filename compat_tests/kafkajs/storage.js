// What the log does with records, through KafkaJS: more tests for main.js.
'use strict'

const assert = require('node:assert')
const { CompressionTypes } = require('kafkajs')

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function eventually(what, holds) {
  for (let i = 0; i < 400; i++) {
    if (await holds()) return
    await pause(100)
  }
  assert.fail(`never: ${what}`)
}

const storage = ({ topic, admin, create, producer, read, text }) => ({
  async ordering() {
    await create()
    // By default KafkaJS may write a batch twice whose answer it did not get.
    const client = await producer({ idempotent: true, maxInFlightRequests: 1 })
    const values = Array.from({ length: 1000 }, (_, i) => String(i))
    for (let i = 0; i < 1000; i += 100) {
      await client.send({ topic, messages: values.slice(i, i + 100).map((value) => ({ value })) })
    }
    assert.equal(text(await read(1000)), values.join(' '))
  },
  async partitioning() {
    await create(5)
    const client = await producer()
    for (let partition = 0; partition < 5; partition++) {
      await client.send({ topic, messages: [{ partition, value: `${partition}` }] })
    }
    for (const { partition, value } of await read(5)) assert.equal(value.toString(), `${partition}`)
  },
  async large() {
    await create(1, [{ name: 'max.message.bytes', value: '5000000' }])
    const client = await producer()
    await client.send({ topic, messages: [{ value: Buffer.alloc(3_000_000, 'x') }] })
    const [message] = await read(1)
    assert.equal(message.value.length, 3_000_000)
  },
  async refusals() {
    await create(1, [
      { name: 'cleanup.policy', value: 'compact' },
      { name: 'message.timestamp.before.max.ms', value: '1000' },
    ])
    const client = await producer({ retry: { retries: 0 } })
    await assert.rejects(client.send({ topic, messages: [{ value: 'no key' }] }))
    const old = { key: 'k', value: 'v', timestamp: '1234567890' }
    await assert.rejects(client.send({ topic, messages: [old] }), { type: 'INVALID_TIMESTAMP' })
    await client.send({ topic, messages: [{ key: 'k', value: 'good' }] })
    assert.equal(text(await read(1)), 'good')
  },
  async 'append-time'() {
    await create(1, [{ name: 'message.timestamp.type', value: 'LogAppendTime' }])
    const client = await producer()
    await client.send({ topic, messages: [{ value: 'v', timestamp: '1234567890' }] })
    const [message] = await read(1)
    assert(Number(message.timestamp) > 1_600_000_000_000, message.timestamp)
  },
  async recompression() {
    await create(1, [{ name: 'compression.type', value: 'gzip' }])
    const client = await producer()
    const messages = [{ value: 'a'.repeat(2000) }, { value: 'b'.repeat(2000) }]
    await client.send({ topic, compression: CompressionTypes.None, messages })
    assert.equal(text(await read(2)), messages.map(({ value }) => value).join(' '))
  },
  async retention() {
    const client = await create(1, [
      { name: 'retention.bytes', value: '1000' },
      { name: 'segment.bytes', value: '1048576' },
    ])
    const sender = await producer()
    for (let i = 0; i < 5; i++) {
      await sender.send({ topic, messages: [{ value: Buffer.alloc(600_000, 'x') }] })
    }
    await eventually('the log start moves', async () => {
      const [{ low, high }] = await client.fetchTopicOffsets(topic)
      return low === '4' && high === '5'
    })
  },
  async recreate() {
    const client = await create()
    const sender = await producer()
    await sender.send({ topic, messages: [{ value: 'old' }] })
    await client.deleteTopics({ topics: [topic] })
    await create()
    await eventually('it is empty', async () => {
      const [{ high }] = await (await admin()).fetchTopicOffsets(topic)
      return high === '0'
    })
    await (await producer()).send({ topic, messages: [{ value: 'new' }] })
    assert.equal(text(await read(1)), 'new')
  },
  async 'offsets-of-group'() {
    const client = await create()
    const sender = await producer()
    await sender.send({ topic, messages: ['1', '2', '3'].map((value) => ({ value })) })
    const groupId = `group-${topic}`
    await client.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '2' }] })
    assert.equal(text(await read(1, { groupId })), '3')
    const [{ partitions }] = await client.fetchOffsets({ groupId, topics: [topic] })
    assert.equal(partitions[0].offset, '3')
  },
})

module.exports = { eventually, storage }
