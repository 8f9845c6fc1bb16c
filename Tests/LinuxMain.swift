import Testing

/// The entry point of the test program, in place of the one that SwiftPM generates.
///
/// SwiftPM's own looks for XCTest classes, of which there are none, in the editors' index, which builds leave out
/// (`deploy/lib.sh`).
@main struct TestProgram {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
