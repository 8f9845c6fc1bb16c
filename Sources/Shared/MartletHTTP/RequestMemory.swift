import HTTPTypes
public import Hummingbird
public import NIOCore
import Synchronization

/// The memory that a process may use for requests and answers.
public struct MemoryBudgets: Sendable {
    /// For request bodies that are read completely, until the request is answered.
    public let bodies: MemoryBudget
    /// For large answers, until the client has received them.
    public let answers: MemoryBudget

    public init(bodiesInBytes: Int = 64 << 20, answersInBytes: Int = 128 << 20, maximumWait: Duration = .seconds(5)) {
        bodies = MemoryBudget("bodies", sizeInBytes: bodiesInBytes, maximumWait: maximumWait)
        answers = MemoryBudget("answers", sizeInBytes: answersInBytes, maximumWait: maximumWait)
    }

    /// Settings: `limit.bodies.bytes` (64 MiB), `limit.answers.bytes` (128 MiB).
    init(_ settings: Settings) throws {
        let range = 1 << 20...1 << 40
        self.init(
            bodiesInBytes: try settings.integer("limit.bodies.bytes", default: 64 << 20, in: range),
            answersInBytes: try settings.integer("limit.answers.bytes", default: 128 << 20, in: range))
    }
}

/// The memory that one request holds from the process's budgets.
public final class RequestMemory: Sendable {
    /// The memory of the request that the current task belongs to; nil in jobs.
    @TaskLocal public static var current: RequestMemory?

    /// Bodies and answers up to this size are not counted, because the limit on requests bounds their number.
    public static let smallSizeInBytes = 64 << 10

    private struct State {
        var bodies: [MemoryBudget.Reservation] = []
        var answerReservation: MemoryBudget.Reservation?
        var answer: LargeAnswer?
    }

    private let budgets: MemoryBudgets
    private let state = Mutex(State())

    init(budgets: MemoryBudgets) {
        self.budgets = budgets
    }

    /// Reserves memory for more of the request's body, until the request is answered. A body larger than the whole
    /// budget gets all of it.
    ///
    /// - Throws: `unavailable`.
    func reserveBody(_ sizeInBytes: Int) async throws {
        let held = state.withLock { $0.bodies.reduce(0) { $0 + $1.sizeInBytes } }
        let size = min(sizeInBytes, budgets.bodies.sizeInBytes - held)
        guard size > 0 else { return }
        let reservation = try await budgets.bodies.reserve(size)
        state.withLock { $0.bodies.append(reservation) }
    }

    /// Reserves memory for an answer. Call it before the query that returns large rows. Twice `sizeInBytes` is
    /// reserved, for the rows and for the answer built from them; what the complete answer does not need is released.
    ///
    /// - Throws: `unavailable`.
    public func reserveAnswer(_ sizeInBytes: Int) async throws {
        let reservation = try await budgets.answers.reserve(2 * sizeInBytes)
        state.withLock { $0.answerReservation = reservation }
    }

    /// Records a large answer, replacing any earlier one. Nil records that the answer is not large.
    func record(_ answer: LargeAnswer?) {
        state.withLock { $0.answer = answer }
    }

    /// Counts the recorded answer, if it is large, until it is written.
    ///
    /// - Parameter mayBeRefused: Whether the request can simply be repeated.
    /// - Throws: `unavailable` if there is no room for it.
    func countAnswer(mayBeRefused: Bool) throws {
        let (answer, reservation) = state.withLock { state in
            defer { (state.answer, state.answerReservation) = (nil, nil) }
            return (state.answer, state.answerReservation)
        }
        guard let answer else { return }
        if let reservation, reservation.sizeInBytes >= min(answer.sizeInBytes, budgets.answers.sizeInBytes) {
            reservation.shrink(to: answer.sizeInBytes)
            answer.hold(reservation)
        } else if mayBeRefused {
            guard let reservation = budgets.answers.reserveNow(answer.sizeInBytes) else { throw MemoryBudget.refusal }
            answer.hold(reservation)
        } else {
            answer.hold(budgets.answers.count(answer.sizeInBytes))
        }
    }
}

/// Keeps the memory of large requests and answers within the process's budgets. Add it inside `RequestLineMiddleware`.
struct MemoryMiddleware: RouterMiddleware {
    typealias Context = ServiceContext

    let budgets: MemoryBudgets

    func handle(
        _ request: Request, context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let memory = RequestMemory(budgets: budgets)
        let response = try await RequestMemory.$current.withValue(memory) { try await next(request, context) }
        // A change that was made must be acknowledged, so only reads may be refused.
        try memory.countAnswer(mayBeRefused: request.method == .get || request.method == .head)
        return response
    }
}

/// A large answer in memory. It is written in parts as fast as the client reads, and counts against the budget until
/// then.
final class LargeAnswer: Sendable {
    private static let partSizeInBytes = 64 << 10

    let sizeInBytes: Int
    private let buffer: ByteBuffer
    private let reservation = Mutex<MemoryBudget.Reservation?>(nil)

    init(_ buffer: ByteBuffer) {
        self.buffer = buffer
        sizeInBytes = buffer.readableBytes
    }

    func hold(_ reservation: MemoryBudget.Reservation) {
        self.reservation.withLock { $0 = reservation }
    }

    func write(to writer: inout any ResponseBodyWriter) async throws {
        var rest = buffer.readableBytesView
        while !rest.isEmpty {
            // Copy the part, because a slice held by the connection would keep the whole answer in memory.
            try await writer.write(ByteBuffer(bytes: rest.prefix(Self.partSizeInBytes)))
            rest = rest.dropFirst(Self.partSizeInBytes)
        }
    }
}

extension ResponseBody {
    /// A body that is completely in memory. A large one counts against the process's budget for answers.
    public static func whole(_ buffer: ByteBuffer) -> ResponseBody {
        guard buffer.readableBytes > RequestMemory.smallSizeInBytes else {
            RequestMemory.current?.record(nil)
            return ResponseBody(byteBuffer: buffer)
        }
        let answer = LargeAnswer(buffer)
        RequestMemory.current?.record(answer)
        return ResponseBody(contentLength: answer.sizeInBytes) { writer in
            try await answer.write(to: &writer)
            try await writer.finish(nil)
        }
    }
}
