//! Findings of an experiment: rows with the paper's figure and the measured one.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    /// The paper's value; `None` if the paper has no number, or only a picture.
    pub paper: Option<f64>,
    pub measured: f64,
    /// Measured value divided by the paper's.
    pub ratio: Option<f64>,
    /// A corresponding value measured earlier on a real GPU: a constant of the experiment, not a result of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<f64>,
}

impl Row {
    pub fn new(name: impl Into<String>, paper: impl Into<Option<f64>>, measured: f64) -> Self {
        let paper = paper.into();
        let ratio = paper.filter(|paper| *paper != 0.0).map(|paper| measured / paper);
        Self { name: name.into(), paper, measured, ratio, hardware: None }
    }

    /// Adds the value measured earlier on a real GPU.
    pub fn beside(self, hardware: f64) -> Self {
        Self { hardware: Some(hardware), ..self }
    }
}

/// All rows of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    pub experiment: &'static str,
    #[serde(skip)]
    pub about: &'static str,
    #[serde(skip)]
    pub source: &'static str,
    pub rows: Vec<Row>,
    /// Differences from the paper's set-up, and missing results.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// The arithmetic mean; `None` for an empty slice.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The geometric mean; `None` for an empty slice or if a value is not above 0.
pub fn geomean(values: &[f64]) -> Option<f64> {
    let logarithms = values.iter().map(|value| (*value > 0.0).then(|| value.ln()));
    mean(&logarithms.collect::<Option<Vec<_>>>()?).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_measured_over_the_papers_value() {
        assert_eq!(Row::new("BP", 4.0, 3.0).ratio, Some(0.75));
        assert_eq!(Row::new("BP", None, 3.0).ratio, None);
        assert_eq!(Row::new("nothing", 0.0, 3.0).ratio, None);
    }

    #[test]
    fn the_mean_of_nothing_is_none() {
        assert_eq!((mean(&[1.0, 2.0, 6.0]), mean(&[])), (Some(3.0), None));
    }

    #[test]
    fn a_geometric_mean_is_of_values_above_nothing() {
        assert_eq!((geomean(&[1.0, 4.0]), geomean(&[]), geomean(&[1.0, 0.0])), (Some(2.0), None, None));
    }
}
