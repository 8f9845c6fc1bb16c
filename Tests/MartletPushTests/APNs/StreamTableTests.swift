import MartletCore
import NIOCore
import NIOHPACK
import Testing

@testable import MartletPush

@Suite struct StreamTableTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let ok = HPACKHeaders([(":status", "200"), ("apns-id", "1")])

    private func request(_ text: String = "") -> APNsRequest {
        APNsRequest(notification: TestAPNs.message(to: "00", text), ticket: APNsTicket(), expires: .distantFuture)
    }

    @Test func `A response ends its stream once`() {
        var table = StreamTable()
        #expect(table.begin(request("a"), deadline: start) == 1)
        #expect(table.begin(request("b"), deadline: start) == 3)
        let refused = HPACKHeaders([(":status", "400")])
        #expect(table.receive(refused, isLast: false, on: 3) == nil)
        #expect(table.receive(ByteBuffer(string: #"{"reason":"#), isLast: false, on: 3) == nil)
        let ended = table.receive(ByteBuffer(string: #""BadTopic"}"#), isLast: true, on: 3)
        guard case .answered(let answer)? = ended?.end else { return #expect(Bool(false)) }
        #expect(answer.status == 400 && String(decoding: answer.body, as: UTF8.self) == #"{"reason":"BadTopic"}"#)
        #expect(table.count == 1)
        #expect(table.close(3, isRefused: true) == nil && table.receive(ok, isLast: true, on: 3) == nil)
        #expect(table.receive(ok, isLast: true, on: 99) == nil)
    }

    @Test func `Informational heads and trailers are not responses`() throws {
        var table = StreamTable()
        _ = table.begin(request(), deadline: start)
        #expect(table.receive(HPACKHeaders([(":status", "103")]), isLast: false, on: 1) == nil)
        #expect(table.receive(ok, isLast: false, on: 1) == nil)
        let ended = table.receive(HPACKHeaders([("x", "y")]), isLast: true, on: 1)
        let answer = try #require(APNsAnswer(ok))
        #expect(ended?.end == .answered(answer))
    }

    @Test func `A refused stream can be resent, a broken one may have been processed`() throws {
        var table = StreamTable()
        for _ in 0..<3 { _ = table.begin(request(), deadline: start) }
        #expect(table.close(1, isRefused: true)?.end == .refused)
        #expect(table.close(3, isRefused: false)?.end == .unknown)
        _ = table.receive(ok, isLast: false, on: 5)
        // The head shows that the message was accepted.
        let answer = try #require(APNsAnswer(ok))
        #expect(table.close(5, isRefused: false)?.end == .answered(answer))
        #expect(table.isEmpty)
    }

    @Test func `GOAWAY refuses only streams above the last one`() {
        var table = StreamTable()
        for _ in 0..<4 { _ = table.begin(request(), deadline: start) }
        _ = table.receive(ok, isLast: false, on: 7)
        let ends = table.refuse(above: 3).map(\.end)
        #expect(ends.count == 2 && ends.last == .refused && table.count == 2)
        #expect(table.refuse(above: 0x7fff_ffff).isEmpty && table.refuse(above: 0).count == 2 && table.isEmpty)
    }

    @Test func `Streams without a timely response end in the order sent`() {
        var table = StreamTable()
        for index in 0..<5 { _ = table.begin(request(), deadline: start + .seconds(Int64(index))) }
        _ = table.receive(ok, isLast: true, on: 3)
        #expect(table.expire(at: start - .seconds(1)).isEmpty)
        #expect(table.expire(at: start + .seconds(2)).map(\.stream) == [1, 5])
        #expect(table.count == 2)
        #expect(table.endAll().map(\.end) == [.unknown, .unknown])
        #expect(table.expire(at: start + .seconds(99)).isEmpty && table.isEmpty)
    }

    @Test func `A body beyond the limit is discarded`() {
        var table = StreamTable()
        _ = table.begin(request(), deadline: start)
        _ = table.receive(HPACKHeaders([(":status", "500")]), isLast: false, on: 1)
        for _ in 0..<100 { _ = table.receive(ByteBuffer(repeating: 0x20, count: 1_000), isLast: false, on: 1) }
        guard case .answered(let answer)? = table.receive(ByteBuffer(), isLast: true, on: 1)?.end else {
            return #expect(Bool(false))
        }
        #expect(answer.body.count == 16_000)
    }
}
