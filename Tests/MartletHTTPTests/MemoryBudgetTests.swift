import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import Synchronization
import Testing

@testable import MartletHTTP

@Suite struct MemoryBudgetTests {
    private final class Served: Sendable {
        let numbers = Mutex<[Int]>([])
    }

    private static let patient = Duration.seconds(600)

    @Test func `A permit is returned when it is released, and in part when it shrinks`() async throws {
        let budget = MemoryBudget("tests", sizeInBytes: 100)
        do {
            let reservation = try await budget.reserve(80)
            #expect(budget.heldInBytes == 80)
            #expect(budget.reserveNow(30) == nil)
            reservation.shrink(to: 70)
            #expect(budget.reserveNow(30) != nil)
            reservation.shrink(to: 90)
            #expect(reservation.sizeInBytes == 70 && budget.heldInBytes == 70)
        }
        #expect(budget.heldInBytes == 0)
    }

    @Test func `A request larger than the budget gets all of it`() async throws {
        let budget = MemoryBudget("tests", sizeInBytes: 100)
        let reservation = try await budget.reserve(1_000)
        #expect(reservation.sizeInBytes == 100 && budget.reserveNow(1) == nil)
    }

    @Test func `Waiting requests are served in the order of arrival`() async throws {
        let budget = MemoryBudget("tests", sizeInBytes: 100, maximumWait: Self.patient)
        var first: MemoryBudget.Reservation? = try await budget.reserve(100)
        let served = Served()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, size) in [60, 30, 100].enumerated() {
                group.addTask {
                    let reservation = try await budget.reserve(size)
                    served.numbers.withLock { $0.append(number) }
                    withExtendedLifetime(reservation) {}
                }
                try await eventually { budget.waiting == number + 1 }
            }
            #expect(served.numbers.withLock { $0 } == [])
            first?.shrink(to: 40)
            try await eventually { served.numbers.withLock { $0.count } >= 1 }
            #expect(served.numbers.withLock { $0.first } == 0)
            first = nil
            try await group.waitForAll()
        }
        #expect(served.numbers.withLock { $0.last } == 2)
        #expect(budget.heldInBytes == 0 && budget.waiting == 0)
    }

    @Test func `A request that waits too long, or behind too many others, is refused for now`() async throws {
        let budget = MemoryBudget("tests", sizeInBytes: 10, maximumWait: .milliseconds(20))
        let reservation = try await budget.reserve(10)
        let problem = await #expect(throws: ServiceError.self) { try await budget.reserve(1) }
        #expect(problem?.code == .unavailable && problem?.retryAfter == 5)
        let full = MemoryBudget("tests", sizeInBytes: 10, maximumWait: Self.patient, maximumWaiting: 0)
        let other = try await full.reserve(10)
        await #expect(throws: ServiceError.self) { try await full.reserve(1) }
        #expect(budget.waiting == 0 && full.waiting == 0)
        withExtendedLifetime((reservation, other)) {}
    }

    @Test func `A cancelled request leaves the queue, and the next one is served`() async throws {
        let budget = MemoryBudget("tests", sizeInBytes: 10, maximumWait: Self.patient)
        let reservation = try await budget.reserve(5)
        let large = Task { _ = try await budget.reserve(10) }
        try await eventually { budget.waiting == 1 }
        let small = Task { _ = try await budget.reserve(5) }
        try await eventually { budget.waiting == 2 }
        large.cancel()
        try await small.value
        await #expect(throws: ServiceError.self) { try await large.value }
        withExtendedLifetime(reservation) {}
    }

    // MARK: Requests

    private struct Answers: StubService {
        static let name = "answers"

        func addRoutes(to routes: inout RouteTable) {
            routes.get("/large") { _, _ in Response.json(ByteBuffer(repeating: 0x20, count: 1 << 20)) }
            routes.post("/large") { _, _ in Response.json(ByteBuffer(repeating: 0x20, count: 1 << 20)) }
            routes.get("/small") { _, _ in Response.json(ByteBuffer(repeating: 0x20, count: 64 << 10)) }
            routes.get("/reserved") { _, _ in
                try await RequestMemory.current?.reserveAnswer(1 << 20)
                return Response.json(ByteBuffer(repeating: 0x20, count: 512 << 10))
            }
            routes.post("/body") { request, _ in
                let body = try await request.wholeBody(upTo: 4 << 20)
                return Response.json("\(body.readableBytes)")
            }
        }
    }

    private func client(_ budgets: MemoryBudgets) async throws -> ServiceClient {
        let router = ServiceProcess.makeRouter(Answers(), signer: ServiceClient.signer, memory: budgets)
        let client = try await Application(router: router, logger: .silent).test(.router) { $0 }
        return ServiceClient(client, principal: .service("tests"))
    }

    @Test func `Beyond the budget large responses are refused, small ones and those to writes sent`() async throws {
        let budgets = MemoryBudgets(answersInBytes: 2 << 20, maximumWait: .milliseconds(20))
        let client = try await client(budgets)
        let taken = try await client.get("/large")
        #expect(taken.status == 200 && taken.text.utf8.count == 1 << 20)
        #expect(budgets.answers.heldInBytes == 0)

        let others = budgets.answers.count(3 << 19)
        for path in ["/large", "/reserved"] {
            let refused = try await client.get(path)
            #expect(refused.isProblem(.unavailable) && refused.header("retry-after") == "5", "\(path) \(refused)")
        }
        #expect(try await client.get("/small").status == 200)
        #expect(try await client.post("/large").text.utf8.count == 1 << 20)
        #expect(budgets.answers.heldInBytes == 3 << 19)
        others.shrink(to: 0)
        let reserved = try await client.get("/reserved")
        #expect(reserved.text.utf8.count == 512 << 10)
        #expect(budgets.answers.heldInBytes == 0)
    }

    @Test func `A response counts until its client has read it`() async throws {
        let budgets = MemoryBudgets()
        let memory = RequestMemory(budgets: budgets)
        let body = RequestMemory.$current.withValue(memory) {
            ResponseBody.whole(ByteBuffer(repeating: 0x20, count: 300_000))
        }
        try memory.countAnswer(mayBeRefused: true)
        let parts = Mutex<[Int]>([])
        let held = Mutex<[Int]>([])
        try await body.write(
            Watcher { part in
                parts.withLock { $0.append(part) }
                held.withLock { $0.append(budgets.answers.heldInBytes) }
            })
        #expect(parts.withLock { $0 } == [65_536, 65_536, 65_536, 65_536, 37_856])
        #expect(held.withLock { $0.allSatisfy { $0 == 300_000 } })
    }

    @Test func `A body counts while its request is processed, and is refused without room`() async throws {
        let budgets = MemoryBudgets(bodiesInBytes: 2 << 20, maximumWait: .milliseconds(20))
        let client = try await client(budgets)
        let large = String(repeating: "x", count: 1 << 20)
        #expect(try await client.post("/body", large).text == "1048576")
        #expect(budgets.bodies.heldInBytes == 0)
        let others = budgets.bodies.count(3 << 19)
        let refused = try await client.post("/body", large)
        #expect(refused.isProblem(.unavailable) && refused.header("retry-after") == "5", "\(refused)")
        #expect(try await client.post("/body", String(large.prefix(64 << 10))).text == "65536")
        #expect(try await client.post("/body", String(repeating: "x", count: 5 << 20)).isProblem(.payloadTooLarge))
        #expect(budgets.bodies.heldInBytes == 3 << 19)
        withExtendedLifetime(others) {}
    }

    @Test(arguments: [(8, 16 << 20), (1, 1 << 20)])
    func `Large bodies do not wait for each other, and one larger than the budget is read alone`(
        _ count: Int, _ budget: Int
    ) async throws {
        let budgets = MemoryBudgets(bodiesInBytes: budget, maximumWait: Self.patient)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let portions = AsyncStream<ByteBuffer> { stream in
                        for _ in 0..<16 { stream.yield(ByteBuffer(repeating: 0x20, count: 256 << 10)) }
                        stream.finish()
                    }.map { portion in
                        await Task.yield()
                        return portion
                    }
                    let request = Request(
                        head: HTTPRequest(
                            method: .post, scheme: nil, authority: nil, path: "/",
                            headerFields: [.contentLength: "\(4 << 20)"]),
                        body: RequestBody(asyncSequence: portions))
                    return try await RequestMemory.$current.withValue(RequestMemory(budgets: budgets)) {
                        try await request.wholeBody(upTo: 4 << 20).readableBytes
                    }
                }
            }
            for try await size in group { #expect(size == 4 << 20) }
        }
        #expect(budgets.bodies.heldInBytes == 0)
    }

    private struct Watcher: ResponseBodyWriter {
        let onPart: (Int) -> Void

        mutating func write(_ buffer: ByteBuffer) async throws { onPart(buffer.readableBytes) }
        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}
