/// The enhanced status code of an SMTP reply (RFC 3463), such as `5.1.1` in `550 5.1.1 No such user`.
struct EnhancedStatus: Equatable {
    let kind: Int
    let subject: Int
    let detail: Int

    /// Returns nil when the line has no enhanced status code.
    init?(_ line: some Collection<UInt8>) {
        let words = String(decoding: line, as: UTF8.self).split(maxSplits: 2) { $0 == " " || $0 == "-" }
        guard words.count >= 2, words[0].count == 3 else { return nil }
        let parts = words[1].prefix { !$0.isNewline }.split(separator: ".", omittingEmptySubsequences: false).map {
            Int($0)
        }
        guard parts.count == 3, let kind = parts[0], let subject = parts[1], let detail = parts[2] else { return nil }
        (self.kind, self.subject, self.detail) = (kind, subject, detail)
    }

    /// Whether the code means that no mail can ever be delivered to the address: mailbox or host does not exist, the
    /// address is invalid, the mailbox has moved or is closed, or the host accepts no mail (RFC 7505). A bare 550 and
    /// 5.7.1 do not count, because servers also use them to reject senders and relaying.
    var meansNoMailbox: Bool {
        switch (kind, subject, detail) {
        case (5, 1, 1...3), (5, 1, 6), (5, 1, 10), (5, 2, 1): true
        default: false
        }
    }
}
