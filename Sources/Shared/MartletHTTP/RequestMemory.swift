import HTTPTypes
public import Hummingbird
public import NIOCore
import Synchronization

/// How much memory a process may take for requests and answers.
public struct MemoryBudgets: Sendable {
    /// Of bodies that are read whole, until their request is answered.
    public let bodies: MemoryBudget
    /// Of large answers, until the client has taken them.
    public let answers: MemoryBudget

    public init(bodiesInBytes: Int = 64 << 20, answersInBytes: Int = 128 << 20, patience: Duration = .seconds(5)) {
        bodies = MemoryBudget("bodies", sizeInBytes: bodiesInBytes, patience: patience)
        answers = MemoryBudget("answers", sizeInBytes: answersInBytes, patience: patience)
    }

    /// Settings: `limit.bodies.bytes` (64 MiB), `limit.answers.bytes` (128 MiB).
    init(_ settings: Settings) throws {
        let range = 1 << 20...1 << 40
        self.init(
            bodiesInBytes: try settings.integer("limit.bodies.bytes", default: 64 << 20, in: range),
            answersInBytes: try settings.integer("limit.answers.bytes", default: 128 << 20, in: range))
    }
}

/// What one request holds of the process's budgets.
public final class RequestMemory: Sendable {
    /// The memory of the request that the current task works for; nil in jobs.
    @TaskLocal public static var current: RequestMemory?

    /// Bodies and answers up to this size are not counted: how many there are at a time is limited by the number of requests.
    public static let smallSizeInBytes = 64 << 10

    private struct State {
        var bodies: [MemoryBudget.Room] = []
        var answerRoom: MemoryBudget.Room?
        var answer: LargeAnswer?
    }

    private let budgets: MemoryBudgets
    private let state = Mutex(State())

    init(budgets: MemoryBudgets) {
        self.budgets = budgets
    }

    /// Room for more of the request's body, held until the request is answered. A body larger than the whole budget gets all of it.
    ///
    /// - Throws: `unavailable`.
    func reserveBody(_ sizeInBytes: Int) async throws {
        let held = state.withLock { $0.bodies.reduce(0) { $0 + $1.sizeInBytes } }
        let size = min(sizeInBytes, budgets.bodies.sizeInBytes - held)
        guard size > 0 else { return }
        let room = try await budgets.bodies.reserve(size)
        state.withLock { $0.bodies.append(room) }
    }

    /// Room for an answer that is about to be made: call it before the query whose rows will be large. Twice `sizeInBytes` is
    /// reserved, for the rows and the answer made of them; what the answer does not need is given back when it is there.
    ///
    /// - Throws: `unavailable`.
    public func reserveAnswer(_ sizeInBytes: Int) async throws {
        let room = try await budgets.answers.reserve(2 * sizeInBytes)
        state.withLock { $0.answerRoom = room }
    }

    /// Notes an answer that was made; the last one counts. Nil: one that is not large.
    func note(_ answer: LargeAnswer?) {
        state.withLock { $0.answer = answer }
    }

    /// Counts the answer that was made, if it is large, until it is written.
    ///
    /// - Parameter mayBeRefused: whether the request can simply be made again.
    /// - Throws: `unavailable` when there is no room for it.
    func countAnswer(mayBeRefused: Bool) throws {
        let (answer, room) = state.withLock { state in
            defer { (state.answer, state.answerRoom) = (nil, nil) }
            return (state.answer, state.answerRoom)
        }
        guard let answer else { return }
        if let room, room.sizeInBytes >= min(answer.sizeInBytes, budgets.answers.sizeInBytes) {
            room.shrink(to: answer.sizeInBytes)
            answer.hold(room)
        } else if mayBeRefused {
            guard let room = budgets.answers.reserveNow(answer.sizeInBytes) else { throw MemoryBudget.refusal }
            answer.hold(room)
        } else {
            answer.hold(budgets.answers.count(answer.sizeInBytes))
        }
    }
}

/// Lets large requests and answers take no more memory than the process's budgets; inside `RequestLineMiddleware`.
struct MemoryMiddleware: RouterMiddleware {
    typealias Context = ServiceContext

    let budgets: MemoryBudgets

    func handle(
        _ request: Request, context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let memory = RequestMemory(budgets: budgets)
        let response = try await RequestMemory.$current.withValue(memory) { try await next(request, context) }
        // A change that was made must be acknowledged.
        try memory.countAnswer(mayBeRefused: request.method == .get || request.method == .head)
        return response
    }
}

/// A large answer that is whole in memory: written in parts, as fast as the client takes them, and counted until it is written.
final class LargeAnswer: Sendable {
    private static let partSizeInBytes = 64 << 10

    let sizeInBytes: Int
    private let buffer: ByteBuffer
    private let room = Mutex<MemoryBudget.Room?>(nil)

    init(_ buffer: ByteBuffer) {
        self.buffer = buffer
        sizeInBytes = buffer.readableBytes
    }

    func hold(_ room: MemoryBudget.Room) {
        self.room.withLock { $0 = room }
    }

    func write(to writer: inout any ResponseBodyWriter) async throws {
        var rest = buffer.readableBytesView
        while !rest.isEmpty {
            // Copied: a slice that the connection holds would hold the whole answer.
            try await writer.write(ByteBuffer(bytes: rest.prefix(Self.partSizeInBytes)))
            rest = rest.dropFirst(Self.partSizeInBytes)
        }
    }
}

extension ResponseBody {
    /// A body that is whole in memory. A large one counts against the process's budget of answers.
    public static func whole(_ buffer: ByteBuffer) -> ResponseBody {
        guard buffer.readableBytes > RequestMemory.smallSizeInBytes else {
            RequestMemory.current?.note(nil)
            return ResponseBody(byteBuffer: buffer)
        }
        let answer = LargeAnswer(buffer)
        RequestMemory.current?.note(answer)
        return ResponseBody(contentLength: answer.sizeInBytes) { writer in
            try await answer.write(to: &writer)
            try await writer.finish(nil)
        }
    }
}
