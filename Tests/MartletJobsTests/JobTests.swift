import Foundation
import MartletPostgres
import MartletTesting
import Testing

@testable import MartletJobs

@Suite struct JobTests {
    @Test func `a job runs once, and its result and progress are stored`() async throws {
        try await TestQueue.with { test async throws in
            let handler = Simple { parameters, job in
                try await job.report(JobProgress(done: 3, total: 7, message: "half way"), isImportant: true)
                return parameters + "!"
            }
            let id = try await test.enqueue(Simple.self, JobOptions(scope: "a"))
            #expect(try await test.queue.job(id, scope: "a")?.state == .waiting)
            #expect(try await test.queue.job(id, scope: "b") == nil)
            try await test.withWorkers([handler]) { _ async throws in
                let job = try await test.finished(id, scope: "a")
                #expect(job.state == .done && job.attempt == 1 && job.failure == nil)
                #expect(job.result.map { String(decoding: $0.bytes, as: UTF8.self) } == #""p!""#)
                #expect(job.progress == JobProgress(done: 7, total: 7, message: "half way"))
                #expect(job.started != nil && job.finished != nil)
            }
        }
    }

    @Test func `a job in a transaction that is rolled back does not exist`() async throws {
        try await TestQueue.with { test async throws in
            struct Stop: Error {}
            await #expect(throws: Stop.self) {
                try await test.postgres.withTransaction { transaction in
                    try await test.queue.enqueue(Simple.self, "p", in: transaction)
                    throw Stop()
                }
            }
            #expect(try await test.queue.jobs(scope: "", limit: 10).isEmpty)
            try await test.postgres.withTransaction { _ = try await test.queue.enqueue(Simple.self, "p", in: $0) }
            #expect(try await test.queue.jobs(scope: "", limit: 10).count == 1)
        }
    }

    @Test func `many workers run each job once`() async throws {
        try await TestQueue.with { test async throws in
            let tally = Tally()
            let handler = Simple { parameters, job in
                tally.enter(job.id.uuidString, job.id)
                try await Task.sleep(for: .milliseconds(5))
                tally.leave(job.id.uuidString)
                return ""
            }
            var ids: [UUID] = []
            for _ in 0..<40 { ids.append(try await test.enqueue(Simple.self)) }
            try await test.withWorkers([handler], count: 4) { _ async throws in
                for _ in 0..<40 { ids.append(try await test.enqueue(Simple.self)) }
                for id in ids { #expect(try await test.finished(id).state == .done) }
            }
            #expect(tally.runs.count == 80 && tally.runs.values.allSatisfy { $0 == 1 })
        }
    }

    @Test func `a worker runs no more jobs at once than allowed`() async throws {
        try await TestQueue.with { test async throws in
            let tally = Tally()
            let handler = Simple { _, job in
                tally.enter("all", job.id)
                try await eventually("three run at once") { tally.most["all"] ?? 0 >= 3 }
                try await Task.sleep(for: .milliseconds(20))
                tally.leave("all")
                return ""
            }
            var ids: [UUID] = []
            for _ in 0..<12 { ids.append(try await test.enqueue(Simple.self)) }
            try await test.withWorkers([handler], concurrency: 3) { _ async throws in
                for id in ids { _ = try await test.finished(id) }
            }
            #expect(tally.most["all"] == 3)
        }
    }

    @Test func `a lane runs one job at a time, on any worker`() async throws {
        try await TestQueue.with { test async throws in
            let tally = Tally()
            let handler = Simple { _, job in
                tally.enter(job.scope, job.id)
                try await Task.sleep(for: .milliseconds(5))
                tally.leave(job.scope)
                return ""
            }
            var ids: [(UUID, String)] = []
            for number in 0..<24 {
                let lane = "lane\(number % 3)"
                ids.append((try await test.enqueue(Simple.self, JobOptions(scope: lane, lane: lane)), lane))
            }
            try await test.withWorkers([handler], count: 3) { _ async throws in
                for (id, scope) in ids { #expect(try await test.finished(id, scope: scope).state == .done) }
            }
            #expect(tally.most == ["lane0": 1, "lane1": 1, "lane2": 1])
        }
    }

    @Test func `a second job with the same key is not stored until the first is finished`() async throws {
        try await TestQueue.with { test async throws in
            let options = JobOptions(uniqueKey: "k")
            let id = try await test.enqueue(Simple.self, options)
            #expect(try await test.queue.enqueue(Simple.self, "p", options) == nil)
            _ = try await test.queue.cancel(id, scope: "")
            #expect(try await test.queue.enqueue(Simple.self, "p", options) != nil)
        }
    }

    @Test func `priority takes precedence over age, and delayed jobs wait`() async throws {
        try await TestQueue.with { test async throws in
            let first = try await test.enqueue(Simple.self)
            let urgent = try await test.enqueue(Simple.self, JobOptions(priority: 1))
            let late = try await test.enqueue(Simple.self, JobOptions(priority: 2, delay: .seconds(60)))
            let claimed = try await test.queue.claim(kinds: [Simple.kind], limit: 1, lease: .seconds(9))
            #expect(claimed.map(\.id) == [urgent])
            #expect(try await test.queue.claim(kinds: [Simple.kind], limit: 9, lease: .seconds(9)).map(\.id) == [first])
            #expect(try await test.queue.job(late, scope: "")?.state == .waiting)
            #expect(try await test.queue.claim(kinds: ["test.other"], limit: 9, lease: .seconds(9)).isEmpty)
        }
    }

    @Test func `jobs of a scope are listed newest first, page by page`() async throws {
        try await TestQueue.with { test async throws in
            var ids: [UUID] = []
            for _ in 0..<5 {
                ids.append(try await test.enqueue(Simple.self, JobOptions(scope: "a")))
                try await Task.sleep(for: .milliseconds(2))
            }
            _ = try await test.enqueue(Simple.self, JobOptions(scope: "b"))
            let page = try await test.queue.jobs(scope: "a", limit: 3)
            #expect(page.map(\.id) == Array(ids.reversed().prefix(3)))
            #expect(
                try await test.queue.jobs(scope: "a", before: page[2].id, limit: 3).map(\.id)
                    == Array(ids.prefix(2).reversed()))
            #expect(try await test.queue.jobs(scope: "a", kinds: ["test.other"], limit: 3).isEmpty)
            #expect(try await test.queue.unfinished(scope: "a", kinds: [Simple.kind]) == 5)
        }
    }

    @Test func `finished jobs are pruned after their retention, others are not`() async throws {
        try await TestQueue.with { test async throws in
            let old = try await test.enqueue(Simple.self)
            _ = try await test.queue.cancel(old, scope: "")
            let waiting = try await test.enqueue(Simple.self)
            #expect(try await test.queue.prune(retention: .seconds(60)) == 0)
            #expect(try await test.queue.prune(retention: .zero) == 1)
            #expect(try await test.queue.job(old, scope: "") == nil)
            #expect(try await test.queue.job(waiting, scope: "") != nil)
        }
    }
}
