import Foundation

/// A line of the journal, separated by tabs: message, installation, attempt, claim, state, microseconds until the next
/// attempt, reason, receipt.
extension DeliveryResult {
    private static let tab = UInt8(ascii: "\t")

    /// Nil if nothing was sent. The delivery is then sent again as if it had not been claimed.
    var line: [UInt8]? {
        let (state, delay, reason, receipt): (String, Int, String?, String?) =
            switch verdict {
            case .ended(let end, let reason, let receipt): (end.rawValue, 0, reason, receipt)
            case .again(let delay, let reason, counts: true): ("queued", delay.inMicroseconds, reason, nil)
            case .again(_, _, counts: false): ("", 0, nil, nil)
            }
        guard !state.isEmpty else { return nil }
        var line = Array(
            "\(message.uuidString)\t\(installation.uuidString)\t\(attempt)\t\(claim)\t\(state)\t\(delay)\t".utf8)
        for (text, end) in [(reason, Self.tab), (receipt, UInt8(ascii: "\n"))] {
            // Texts from push services may contain anything, including tabs and line breaks.
            line += (text ?? "").utf8.lazy.filter { $0 >= 0x20 }
            line.append(end)
        }
        return line
    }

    init?(line: some Collection<UInt8>) {
        let fields = line.split(separator: Self.tab, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard fields.count == 8, let message = UUID(uuidString: fields[0]),
            let installation = UUID(uuidString: fields[1]), let attempt = Int(fields[2]),
            let claim = Int(fields[3]), let delay = Int(fields[5])
        else { return nil }
        let (reason, receipt) = (fields[6].isEmpty ? nil : fields[6], fields[7].isEmpty ? nil : fields[7])
        (self.message, self.installation, self.attempt, self.claim) = (message, installation, attempt, claim)
        if fields[4] == "queued" {
            verdict = .again(after: .microseconds(delay), reason: reason ?? "", counts: true)
        } else {
            guard let end = DeliveryEnd(rawValue: fields[4]) else { return nil }
            verdict = .ended(end, reason: reason, receipt: receipt)
        }
    }
}
