import AnalyticsService
import MartletHTTP

@main
enum Main {
    static func main() async {
        await ServiceProcess.run(AnalyticsService.self)
    }
}
