import Foundation
import MartletCore
import MartletFlags

/// Measures how fast flags are evaluated, in CPU time on one thread. Run by `deploy/bench flags`.
///
/// Uses 200 flags typical of apps: half with a condition on country or version, a quarter with a percentage rollout,
/// the rest with a named condition and a three-way split. The attributes are those of a phone. Prints evaluations per
/// second, and the CPU milliseconds for all 200 including their JSON.
@main
enum Flagbench {
    static func main() throws {
        var compiler = FlagDocumentCompiler()
        let flags = compiler.compile(try JSONValue(parsing: document.utf8))
        guard !compiler.issues.contains(where: \.isError) else { return report("\(compiler.issues)") }
        let subjects = (0..<500).map { Subject(attributes(of: $0)) }
        let keys = flags.flags.map(\.key)

        var on = 0
        let count = 1_000_000
        let single = cpuSeconds {
            for index in 0..<count
            where flags.evaluate(keys[index % keys.count], for: subjects[index % subjects.count])?.value.isOn == true {
                on += 1
            }
        }
        var bytes = 0
        let rounds = 1_000
        let bulk = cpuSeconds {
            for index in 0..<rounds {
                let answers = flags.evaluateAll(for: subjects[index % subjects.count])
                bytes +=
                    answers.map {
                        #"{"key":\#(JSONValue.quote($0.key)),"value":\#($0.value.text),"variant":\#(JSONValue.quote($0.variant))}"#
                    }
                    .joined(separator: ",").utf8.count
            }
        }
        report("\(Int(Double(count) / single)) evaluations/s on one core (\(on * 100 / count) % on)")
        report(
            String(
                format: "%.3f ms CPU for all %d flags as %d bytes of JSON", bulk / Double(rounds) * 1_000, keys.count,
                bytes / rounds))
    }

    private static func report(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    private static func cpuSeconds(_ body: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        body()
        return now() - start
    }

    private static func attributes(of index: Int) -> FlagAttributes {
        [
            "id": .string("0193a000-0000-7000-8000-00000000\(index)"),
            "platform": .string(index % 3 == 0 ? "android" : "ios"),
            "osVersion": .string("18.\(index % 5)"), "appVersion": .string("2.\(index % 20).1"),
            "language": .string("de-CH"),
            "country": .string(["CH", "DE", "US", "FR"][index % 4]), "now": .number(1_790_000_000),
            "email": .string("user\(index)@example.com"),
            "user": .object(["id": .string("u\(index)")]), "plan": .string(index % 10 == 0 ? "pro" : "free"),
        ]
    }

    private static var document: String {
        let rules = (0..<200).map { index in
            switch index % 4 {
            case 0: #"{"when":{"country":{"$in":["CH","AT","LI"]},"platform":"ios"},"value":true}"#
            case 1: #"{"when":{"appVersion":{"$vgte":"2.1\#(index % 9).0"}},"value":true}"#
            case 2: #"{"when":{"now":{"$before":"2027-01-01T00:00:00Z"}},"percent":\#(index % 100),"value":true}"#
            default:
                #"{"when":"pro","split":[{"value":true,"percent":30},{"value":false,"percent":30},{"value":true,"percent":40}]}"#
            }
        }
        let flags = rules.enumerated().map { #""flag-\#($0)":{"type":"boolean","default":false,"rules":[\#($1)]}"# }
        let conditions = #"{"pro":{"$or":[{"plan":"pro"},{"email":{"$regexi":"@example\\.com$"}}]}}"#
        return #"{"flags":{\#(flags.joined(separator: ","))},"conditions":\#(conditions)}"#
    }
}
